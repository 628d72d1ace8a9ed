"""Chooses tags by the scores of a linear chain, with settings that can be changed after training."""

from typing import Dict, List, Optional, Sequence

import torch

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.ranges import check_is_one_of, is_number
from tagger.common.vocabulary import check_is_label
from tagger.linear_chain import ChainScores, tag_marginals, viterbi_decode
from tagger.spans import labels_opened

#: Which sequence to predict: the most probable one, or the one with the fewest expected wrong tags.
DECODINGS = ("viterbi", "minimum_risk")


class ChainDecoder(torch.nn.Module):
    """Chooses the tags of sequences by the scores of linear chains.

    The settings affect neither training nor probabilities. Change them after training, or let
    `allennlp tune-decoding` fit them to development data. Letters: `B` batch, `T` tokens, `K` tags.

    Args:
        tags: All tags, in the order of their indices.
        tag_encoding: How the tags spell spans; `None` for plain labels.
        decode_bias: By label, a number of nats to add to the emissions of the tags that open its spans
            (Minkov et al. 2006, section 3), so once for each span. Above 0, more spans of the label are
            predicted; below 0, fewer. For a plain label, it is added to the label's own emissions.
        entity_thresholds: By label, the probability that an entity must reach to be predicted (after
            Culotta & McCallum 2004). Entities below it become `O`.
        decoding: `"viterbi"` for the most probable sequence of tags, or `"minimum_risk"` for the
            possible sequence with the highest expected number of right tags.
    """

    bias: torch.Tensor

    def __init__(
        self,
        tags: Sequence[str],
        tag_encoding: Optional[str] = None,
        decode_bias: Optional[Dict[str, float]] = None,
        entity_thresholds: Optional[Dict[str, float]] = None,
        decoding: str = "viterbi",
    ) -> None:
        super().__init__()
        self.decode_bias = dict(decode_bias or {})
        self.entity_thresholds = dict(entity_thresholds or {})
        self.decoding = decoding
        check_is_one_of("decoding", decoding, DECODINGS)
        _check_tags(self.decode_bias, self.entity_thresholds, tags, tag_encoding)
        bias = torch.zeros(len(tags))
        if self.decode_bias:
            opened = _labels_opened(tags, tag_encoding)
            bias = torch.tensor([self.decode_bias.get(label, 0.0) for label in opened])
        # Part of the config, not of the weights.
        self.register_buffer("bias", bias, persistent=False)

    def forward(self, scores: ChainScores, mask: torch.Tensor) -> torch.Tensor:
        """Returns the best tags with the bias, but without the thresholds of entities.

        `mask` is (B, T) bool, true at real tokens; the tags are (B, T) int64, 0 at the others.
        """
        scores = scores._replace(emissions=self.biased(scores.emissions))
        if self.decoding == "minimum_risk":
            scores = expected_right(scores, tag_marginals(scores, mask))
        return viterbi_decode(scores, mask)[0]

    def biased(self, emissions: torch.Tensor) -> torch.Tensor:
        """Returns emissions, (..., K), with the bias added."""
        return emissions + self.bias

    def thresholds(self, labels: List[str]) -> List[float]:
        """Returns the threshold of each of these labels, 0 by default."""
        return [self.entity_thresholds.get(label, 0.0) for label in labels]


def labels_with_bias(tags: Sequence[str], tag_encoding: Optional[str]) -> List[str]:
    """Returns the labels that `decode_bias` may name, sorted; a `ValueError` if a tag does not fit.

    Example:
        >>> labels_with_bias(["O", "B-PER", "I-PER", "B-LOC"], "BIO")
        ['LOC', 'PER']
    """
    return sorted({label for label in _labels_opened(tags, tag_encoding) if label})


def expected_right(scores: ChainScores, marginals: torch.Tensor) -> ChainScores:
    """Returns scores under which a path's score is its expected number of right tags.

    `marginals` are (B, T, K), the probability of each tag at each token. Paths that are impossible in
    the chain, because a transition, a start or an end is -inf, stay impossible.
    """
    _, *shared = scores
    possible = (torch.zeros_like(x).masked_fill(x == -torch.inf, -torch.inf) for x in shared)
    # In float64, because the sum over a long chain would drown small differences.
    return ChainScores(marginals.double(), *possible)


def _labels_opened(tags: Sequence[str], tag_encoding: Optional[str]) -> List[str]:
    """Returns the label that each tag opens, empty if none, `_` (as in metrics) if it has no name."""
    opened = labels_opened(tags, tag_encoding)
    return ["" if label is None else label or "_" for label in opened]


def _check_tags(
    decode_bias: Dict[str, float],
    entity_thresholds: Dict[str, float],
    tags: Sequence[str],
    tag_encoding: Optional[str],
) -> None:
    settings = {"decode_bias": decode_bias, "entity_thresholds": entity_thresholds}
    for argument, values in settings.items():
        if not values:
            continue
        try:
            known = dict.fromkeys(labels_with_bias(tags, tag_encoding))
        except ValueError as error:
            raise ConfigurationError(f"`{argument}` cannot be used: {error}") from error
        for label, value in values.items():
            check_is_label(argument, label, known)
            is_bias = argument == "decode_bias"
            if not (is_number(value) if is_bias else is_number(value, 0, 1)):
                expected = "finite number" if is_bias else "number from 0 to 1"
                raise ConfigurationError(
                    f"`{argument}` gives `{label}` {value!r}; it must be a {expected}"
                )
    if entity_thresholds and (tag_encoding is None or "O" not in tags):
        raise ConfigurationError(
            f"`entity_thresholds` needs tags that spell spans, and `O` among them; got "
            f"{', '.join(tags)}; use `decode_bias`"
        )
