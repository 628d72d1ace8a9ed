"""Batch samplers that show sentences with rare labels more often, or others less often."""

from typing import Any, Sequence

import numpy as np
from allennlp.data.samplers import BatchSampler

from tagger.common.ranges import check_shares
from tagger.data.samplers.repeating import (
    RepeatingBatchSampler,
    SentenceLabels,
    shares_of_sentences,
)


@BatchSampler.register("oversampling")
class OversamplingBatchSampler(RepeatingBatchSampler):
    """Repeats sentences with rare labels and drops some sentences without labels.

    This is repeat factor sampling (Gupta, Dollar & Girshick 2019, section 4). A label that occurs in a
    share f of the sentences gets the factor `max(1, sqrt(threshold / f))`. A sentence is shown as often
    per epoch as the largest factor of its labels says. Unlike in that paper, a sentence without a label
    is shown `empty_rate` times.

    Args:
        batch_size: The number of sentences in a batch.
        threshold: A label in less than this share of sentences, above 0 and at most 1, is rare.
        empty_rate: How often an epoch shows a sentence without a known label, above 0 and at most 1.
        **kwargs: The other arguments of `RepeatingBatchSampler`.

    Raises:
        ConfigurationError: If `threshold` or `empty_rate` is out of range.
    """

    def __init__(
        self, batch_size: int, threshold: float, empty_rate: float = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(batch_size, **kwargs)
        check_shares(threshold=threshold, empty_rate=empty_rate)
        self.threshold, self.empty_rate = threshold, empty_rate

    def factors(self, sentences: Sequence[SentenceLabels]) -> np.ndarray:
        shares = shares_of_sentences(sentences, np.ones(len(sentences)))
        of_label = {
            label: max(1.0, (self.threshold / share) ** 0.5) for label, share in shares.items()
        }
        rates = (map(of_label.__getitem__, sentence.counts) for sentence in sentences)
        return np.array([max(own, default=self.empty_rate) for own in rates])


@BatchSampler.register("undersampling")
class UndersamplingBatchSampler(RepeatingBatchSampler):
    """Leaves out, in each epoch, some of the sentences without a rare label.

    Each epoch draws other sentences; those with a rare label are all shown once. Epochs become shorter:
    train for more of them to keep the number of steps.

    Args:
        batch_size: The number of sentences in a batch.
        rate: How often an epoch shows a sentence without a rare label, above 0 and at most 1.
        threshold: A label in less than this share of sentences, above 0 and at most 1, is rare.
        **kwargs: The other arguments of `RepeatingBatchSampler`.

    Raises:
        ConfigurationError: If `rate` or `threshold` is out of range.
    """

    def __init__(self, batch_size: int, rate: float, threshold: float = 0.1, **kwargs: Any) -> None:
        super().__init__(batch_size, **kwargs)
        check_shares(rate=rate, threshold=threshold)
        self.rate, self.threshold = rate, threshold

    def factors(self, sentences: Sequence[SentenceLabels]) -> np.ndarray:
        shares = shares_of_sentences(sentences, np.ones(len(sentences)))
        has_rare = [
            any(shares[label] < self.threshold for label in each.counts) for each in sentences
        ]
        return np.where(has_rare, 1.0, self.rate)
