"""How far the probabilities of entities are from what comes true, as a metric of AllenNLP's."""

from typing import Optional

import numpy as np
import torch
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from tagger.metrics.calibration import (
    count_calibration,
    expected_calibration_error,
    format_calibration_table,
)
from tagger.metrics.span_counts import lay_end_to_end, rows_and_tokens, tag_tables
from tagger.metrics.span_matches import match_spans
from tagger.vocabulary import tags_in_order


@Metric.register("calibration_error")
class CalibrationError(Metric):
    """The expected calibration error of predicted entities: 0.05 if 90 % sure means 85 % right, say.

    Predictions are put into bins by their probability; the error is the mean distance of a bin's share
    of right entities from its mean probability. Only counts are kept, so batches may be of any size and
    a corpus of any length. What is not predicted does not count: this says nothing of recall.

    Args:
        vocabulary: holds the tags.
        label_namespace: the vocabulary's namespace of the tags.
        encoding: how tags spell spans: BIO, IOB1, BIOUL or BMES.
        num_bins: of equal width, from 0 to 1.
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
        self._num_bins = num_bins
        self.reset()

    def __call__(  # type: ignore[override]
        self,
        probabilities: torch.Tensor,
        predictions: torch.Tensor,
        gold_labels: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        """Counts the predicted entities of a batch.

        An entity that holds a token of unknown gold tag, or lies right beside one, does not count.

        Args:
            probabilities: (B, T), at the first token of each predicted entity its probability; the
                others may hold anything.
            predictions: (B, T) int64, indices of predicted tags.
            gold_labels: (B, T) int64, indices of gold tags, -1 where the tag is not known.
            mask: (B, T) bool, which tokens are real; all by default.
        """
        if mask is None:
            mask = torch.ones_like(gold_labels, dtype=torch.bool)
        stated, predicted, gold, is_real = (
            tensor.detach().cpu().numpy()
            for tensor in (probabilities, predictions, gold_labels, mask)
        )
        predicted, gold = (
            lay_end_to_end(tags, is_real, self._outside) for tags in (predicted, gold)
        )
        spans, is_right = match_spans(self._tables, predicted, gold)
        of_spans = stated[rows_and_tokens(spans.starts, is_real.shape[1])]
        self._counts += count_calibration(of_spans, is_right, self._num_bins)

    def get_metric(self, reset: bool = False) -> float:
        """Returns the error since the last reset, of all workers together; 0 without any entity.

        Under `distributed` every worker must call this equally often, as AllenNLP's trainer does.
        """
        error = expected_calibration_error(self._all_counts())
        if reset:
            self.reset()
        return error

    def format_table(self) -> str:
        """Returns the bins as a table to read.

        Like `get_metric`, it is to be called by all workers or none, and before a reset.
        """
        return format_calibration_table(self._all_counts())

    def reset(self) -> None:
        self._counts = np.zeros((3, self._num_bins))

    def _all_counts(self) -> np.ndarray:
        return dist_reduce_sum(torch.from_numpy(self._counts)).cpu().numpy()
