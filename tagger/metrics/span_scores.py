"""Precision, recall and F1 of spans, as a metric of AllenNLP's."""

from typing import Dict, List, Optional

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from tagger.data.fields import tags_in_order
from tagger.metrics.span_counts import UNKNOWN, count_spans, scores_by_label, tag_tables
from tagger.metrics.span_table import format_span_table

MEASURES = ("precision", "recall", "f1-measure")


@Metric.register("span_scores")
class SpanScores(Metric):
    """Precision, recall and F1 of spans: for each label, for all together, and their mean.

    A predicted span is right if a gold span has its label, its start and its end. Sequences that the
    encoding does not allow are read as conlleval and seqeval read them. Only counts are kept, so
    batches may be of any size and a corpus of any length.

    Args:
        vocabulary: holds the tags.
        label_namespace: the vocabulary's namespace of the tags.
        encoding: how tags spell spans: BIO, IOB1, BIOUL or BMES.
        strict: whether spans with an illegal tag, such as an `I-PER` that nothing opened, are left out
            (seqeval's `mode="strict"`) or count as they stand (conlleval, and seqeval's default).
        ignore_labels: labels whose spans never count.

    Raises:
        ConfigurationError: if the vocabulary has no tags or they do not fit `encoding`, a label to
            ignore is none of theirs, or `strict` is asked of IOB1, in which no span is illegal.
    """

    supports_distributed = True

    def __init__(
        self,
        vocabulary: Vocabulary,
        label_namespace: str = "labels",
        encoding: str = "BIO",
        strict: bool = False,
        ignore_labels: Optional[List[str]] = None,
    ) -> None:
        tags = tags_in_order(vocabulary, label_namespace)
        try:
            self._tables = tag_tables(tags, encoding, strict, ignore_labels)
        except ValueError as error:
            raise ConfigurationError(
                f"span scores of the vocabulary's namespace `{label_namespace}`: {error}"
            ) from error
        self._num_tags = len(tags)
        self.reset()

    def __call__(
        self,
        predictions: torch.Tensor,
        gold_labels: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        """Counts the spans of a batch.

        A span, predicted or gold, counts neither way if it holds a token of unknown gold tag or lies
        right beside one.

        Args:
            predictions: (B, T) int64, indices of predicted tags.
            gold_labels: (B, T) int64, indices of gold tags, -1 where the tag is not known.
            mask: (B, T) bool, which tokens are real; all by default. The others may hold anything.

        Raises:
            ValueError: if shapes differ, or a real token has an index that is no tag's.
        """
        if mask is None:
            mask = torch.ones_like(gold_labels, dtype=torch.bool)
        if not predictions.shape == gold_labels.shape == mask.shape:
            raise ValueError(
                "`predictions`, `gold_labels` and `mask` must have one shape (B, T); got "
                f"{tuple(predictions.shape)}, {tuple(gold_labels.shape)} and {tuple(mask.shape)}; "
                "pass tag indices, not scores"
            )
        predicted, gold, is_real = (
            tensor.detach().cpu().numpy() for tensor in (predictions, gold_labels, mask)
        )
        self._check_indices("predictions", predicted[is_real], lowest=0)
        self._check_indices("gold_labels", gold[is_real], lowest=UNKNOWN)
        self._counts += count_spans(self._tables, predicted, gold, is_real)

    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        """Returns the scores of everything since the last reset, of all workers together.

        Under `distributed` every worker must call this equally often, as AllenNLP's trainer does; how
        many batches a worker has seen, if any, does not matter.

        Returns:
            `precision-PER`, `recall-PER` and `f1-measure-PER` for each label; `-overall` of all spans
            together (micro average); `-macro`, the mean over the labels with a gold or predicted span,
            as in seqeval. What is undefined, such as the precision of no predictions, is 0.
        """
        scores = scores_by_label(self._tables.labels, self._all_counts())
        if reset:
            self.reset()
        return {
            f"{measure}-{name}": value
            for name, values in scores.items()
            for measure, value in zip(MEASURES, values)
        }

    def format_table(self) -> str:
        """Returns the scores and the numbers of gold spans as a table to read.

        Like `get_metric`, it is to be called by all workers or none, and before a reset.
        """
        labels, counts = self._tables.labels, self._all_counts()
        return format_span_table(
            scores_by_label(labels, counts), dict(zip(labels, counts[2].tolist()))
        )

    def reset(self) -> None:
        self._counts = np.zeros((3, len(self._tables.labels)), dtype=np.int64)

    def _all_counts(self) -> np.ndarray:
        return dist_reduce_sum(torch.from_numpy(self._counts)).cpu().numpy()

    def _check_indices(self, name: str, indices: np.ndarray, lowest: int) -> None:
        if indices.size and not lowest <= indices.min() <= indices.max() < self._num_tags:
            wrong = indices[(indices < lowest) | (indices >= self._num_tags)][0]
            raise ValueError(
                f"`{name}` holds {wrong} at a token that the mask keeps, expected tag indices from "
                f"{lowest} to {self._num_tags - 1}; check that they are made with this vocabulary"
            )
