"""A batch sampler that shows sentences with many, rare or densely packed entities more often."""

import math
from collections import defaultdict
from typing import Any, Dict, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data.samplers import BatchSampler

from tagger.data.samplers.repeating import RepeatingBatchSampler, SentenceLabels

#: The formulas for the number of repeats, see `SentenceResamplingBatchSampler`.
FORMS = ("sC", "sCR", "sCRD", "nsCRD")


@BatchSampler.register("sentence_resampling")
class SentenceResamplingBatchSampler(RepeatingBatchSampler):
    """Repeats sentences that have many entity tokens, or tokens with rare labels.

    After Wang & Wang 2022, "Sentence-level resampling for named entity recognition". For a sentence of
    `l` tokens, `c_k` of them with the label k, one of these formulas, rounded up, gives the number of
    repeats:

    - `sC`, smoothed, by count: `sqrt(1 + sum c_k)`;
    - `sCR`, with rareness: `sqrt(1 + sum w_k c_k)`;
    - `sCRD`, with density: `(1 + sum w_k c_k) / sqrt(l)`;
    - `nsCRD`, normalised: `(1 + sum w_k sqrt(c_k)) / sqrt(l)`.

    `w_k` is `-log2` of the label's share of all tokens. A sentence without a label is shown once. The
    authors' code has no square root in `sC`; here it has one, which smooths it like the others.

    Epochs become longer: use fewer of them to keep the number of steps.

    Args:
        batch_size: The number of sentences in a batch.
        form: One of the four formulas.
        **kwargs: The other arguments of `RepeatingBatchSampler`.

    Raises:
        ConfigurationError: If the form is unknown.
    """

    def __init__(self, batch_size: int, form: str = "nsCRD", **kwargs: Any) -> None:
        super().__init__(batch_size, **kwargs)
        if form not in FORMS:
            raise ConfigurationError(f"`form` must be one of {', '.join(FORMS)}; got {form!r}")
        self.form = form

    def factors(self, sentences: Sequence[SentenceLabels]) -> np.ndarray:
        totals: Dict[str, float] = defaultdict(float)
        for sentence in sentences:
            for label, count in sentence.counts.items():
                totals[label] += sentence.weight * count
        num_tokens = sum(sentence.weight * sentence.num_tokens for sentence in sentences)
        rareness = {label: math.log2(num_tokens / total) for label, total in totals.items()}
        importances = [self._importance(each, rareness) if each.counts else 1 for each in sentences]
        return np.ceil(np.array(importances, dtype=float))

    def _importance(self, sentence: SentenceLabels, rareness: dict) -> float:
        total = 1 + sum(
            (1 if self.form == "sC" else rareness[label])
            * (math.sqrt(count) if self.form == "nsCRD" else count)
            for label, count in sentence.counts.items()
        )
        is_by_density = self.form in ("sCRD", "nsCRD")
        return total / math.sqrt(sentence.num_tokens) if is_by_density else math.sqrt(total)
