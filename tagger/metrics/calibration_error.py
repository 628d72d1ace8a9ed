"""How well the probabilities of entities are calibrated, as an AllenNLP metric."""

from typing import Optional

import numpy as np
import torch
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from tagger.common.vocabulary import tags_in_order
from tagger.metrics.calibration import (
    count_calibration,
    expected_calibration_error,
    format_calibration_table,
)
from tagger.spans.finding import certain_tags, lay_end_to_end, rows_and_tokens, tag_tables
from tagger.spans.matching import match_spans


@Metric.register("calibration_error")
class CalibrationError(Metric):
    """The expected calibration error of predicted entities.

    Predictions are put into bins by their probability. The error is the mean distance between a bin's
    share of right entities and its mean probability: 0.05, for example, if entities with a probability
    of 90 % are right in 85 % of cases. Only predicted entities count, so the error says nothing about
    recall. Only counts are kept, so batches may be of any size and a corpus of any length.

    Args:
        vocabulary: Holds the tags.
        label_namespace: The vocabulary's namespace of the tags.
        encoding: How tags spell spans: BIO, IOB1, BIOUL, BMES, IOBES or IO.
        num_bins: The number of bins, of equal width, from 0 to 1.

    Raises:
        ConfigurationError: If the vocabulary has no tags.
        ValueError: If a tag is not one of this encoding.
    """

    supports_distributed = True

    def __init__(
        self,
        vocabulary: Vocabulary,
        label_namespace: str = "labels",
        encoding: str = "BIO",
        num_bins: int = 10,
    ) -> None:
        tags = tags_in_order(vocabulary, label_namespace)
        self._tables = tag_tables(tags, encoding)
        self._outside = len(tags)
        self._counts = np.zeros((3, num_bins))
        self.reset()

    def __call__(  # type: ignore[override]
        self,
        probabilities: torch.Tensor,
        predictions: torch.Tensor,
        gold_tags: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        """Counts the predicted entities of a batch.

        An entity does not count if it contains a token with an unknown gold tag or lies right beside
        one.

        Args:
            probabilities: (B, T), the probability of each predicted entity at its first token; other
                places may hold anything.
            predictions: (B, T) int64, indices of predicted tags.
            gold_tags: (B, T) int64, indices of gold tags, -1 where the tag is unknown; or (B, T, K)
                bool, the set of tags that each token may have, of which several are unknown.
            mask: (B, T) bool, which tokens are real; all by default.
        """
        if mask is None:
            mask = torch.ones(gold_tags.shape[:2], dtype=torch.bool, device=gold_tags.device)
        of_tokens, predicted, gold, is_real = (
            tensor.detach().cpu().numpy()
            for tensor in (probabilities, predictions, gold_tags, mask)
        )
        predicted, gold = (
            lay_end_to_end(tags, is_real, self._outside) for tags in (predicted, certain_tags(gold))
        )
        spans, is_right = match_spans(self._tables, predicted, gold)
        of_spans = of_tokens[rows_and_tokens(spans.starts, is_real.shape[1])]
        self._counts += count_calibration(of_spans, is_right, self._counts.shape[1])

    def get_metric(self, reset: bool = False) -> float:
        """Returns the error since the last reset, over all workers; 0 without entities.

        Under `distributed` every worker must call this equally often, as AllenNLP's trainer does.
        """
        error = expected_calibration_error(_of_all_workers(self._counts))
        if reset:
            self.reset()
        return error

    def format_table(self) -> str:
        """Returns the bins of the pass that the last reset ended, as a table to read.

        As for `get_metric`, all workers must call it, or none.
        """
        return format_calibration_table(_of_all_workers(self._finished))

    def reset(self) -> None:
        self._finished, self._counts = self._counts, np.zeros_like(self._counts)


def _of_all_workers(counts: np.ndarray) -> np.ndarray:
    return dist_reduce_sum(torch.from_numpy(counts)).cpu().numpy()
