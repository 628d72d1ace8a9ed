"""Metrics of taggers, as an AllenNLP metric."""

from typing import Dict, Optional

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from tagger.common.vocabulary import tags_in_order
from tagger.metrics.calibration import (
    count_calibration,
    expected_calibration_error,
    format_calibration_table,
)
from tagger.metrics.label_metrics import (
    NO_LABEL,
    counts_of_confusions,
    metrics_by_label,
    named_confusions,
    partial_metrics,
)
from tagger.spans.finding import (
    UNKNOWN,
    TagTables,
    certain_tags,
    lay_end_to_end,
    rows_and_tokens,
    tag_tables,
    without_open_labels,
)
from tagger.spans.matching import (
    ERRORS_OF_GOLD,
    ERRORS_OF_PREDICTED,
    OUTCOMES,
    SCHEMES,
    count_partial_matches,
    count_span_confusions,
    match_spans,
)


@Metric.register("tag_metrics")
class TagMetrics(Metric):
    """Precision, recall and F1 of spans and of tokens: for each label, for all labels, and their mean.

    A predicted span is right if a gold span has the same label, start and end. Illegal sequences are
    read as conlleval and seqeval read them. A token is right if its tag has the same label as its gold
    tag, whatever the prefixes; `O` is not a label. Only counts are kept, so batches may be of any size
    and a corpus of any length. Under `distributed` every worker must call a method that returns metrics
    equally often, as AllenNLP's trainer does; the numbers of their batches may differ, and may be 0.

    Args:
        vocab: Holds the tags.
        label_namespace: The vocabulary's namespace of the tags.
        tag_encoding: How tags spell spans: BIO, IOB1, BIOUL, BMES, IOBES or IO. `None` for plain labels,
            such as parts of speech: then there are metrics of tokens only, and each tag is its own
            label.
        strict: Whether spans with an illegal tag, such as an `I-PER` that nothing opened, are left out
            (seqeval's `mode="strict"`) or count (conlleval, and seqeval's default).
        calibration_bins: The number of bins, of equal width from 0 to 1, for the calibration error of
            entities, which needs their probabilities in every batch; 0 for no such error.

    Raises:
        ConfigurationError: If the vocabulary has no tags, they do not fit `tag_encoding`, or `strict` is
            used with IOB1 or IO, in which no span is illegal, or with plain labels.
    """

    supports_distributed = True

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = "BIO",
        strict: bool = False,
        calibration_bins: int = 0,
    ) -> None:
        tags = tags_in_order(vocab, label_namespace)
        try:
            self._tables = tag_tables(tags, tag_encoding, strict)
        except ValueError as error:
            raise ConfigurationError(
                f"metrics of the tags in the vocabulary's namespace `{label_namespace}`: {error}"
            ) from error
        self._num_tags = len(tags)
        self._has_spans = tag_encoding is not None
        self._calibration = np.zeros((3, calibration_bins))
        self.reset()

    def __call__(
        self,
        predictions: torch.Tensor,
        gold_tags: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        probabilities: Optional[torch.Tensor] = None,
    ) -> None:
        """Counts the spans and the tokens of a batch.

        `tagger.spans.matching.SpanMatches` says which spans count. A token counts if all of its
        possible tags have the same label, or if it has none of the labels that were annotated.

        Args:
            predictions: (B, T) int64, indices of predicted tags.
            gold_tags: (B, T) int64, indices of gold tags, -1 where the tag is unknown; or (B, T, K)
                bool, the set of tags that each token may have.
            mask: (B, T) bool, which tokens are real; all by default. The others may hold anything.
            probabilities: (B, T), the probability of each predicted entity at its first token; other
                places may hold anything.

        Raises:
            ValueError: If the shapes differ, or a real token has an index that belongs to no tag.
        """
        if mask is None:
            mask = torch.ones(gold_tags.shape[:2], dtype=torch.bool, device=gold_tags.device)
        are_sets = gold_tags.dtype == torch.bool
        gold_shape = (*predictions.shape, self._num_tags) if are_sets else predictions.shape
        if not (predictions.shape == mask.shape and gold_tags.shape == gold_shape):
            raise ValueError(
                "`predictions`, `gold_tags` and `mask` must have one shape (B, T), or `gold_tags` must "
                f"be bool of shape (B, T, {self._num_tags}); got {tuple(predictions.shape)}, "
                f"{gold_tags.dtype} of shape {tuple(gold_tags.shape)} and {tuple(mask.shape)}; pass tag "
                "indices, not scores"
            )
        predicted, gold, is_real = (
            tensor.detach().cpu().numpy() for tensor in (predictions, gold_tags, mask)
        )
        self._check_indices("predictions", predicted[is_real], lowest=0)
        self._check_indices("gold_tags", certain_tags(gold)[is_real], lowest=UNKNOWN)
        predicted = np.where(is_real, predicted, 0)
        sides = without_open_labels(self._tables, predicted, gold)
        predicted, gold_of_spans, gold_of_tokens = (
            lay_end_to_end(tags, is_real, outside=self._num_tags) for tags in sides
        )
        self._token_confusions += _token_confusions(self._tables, predicted, gold_of_tokens)
        if not self._has_spans:
            return
        num_labels = len(self._tables.labels)
        matches = match_spans(self._tables, predicted, gold_of_spans)
        self._span_confusions += count_span_confusions(matches, num_labels)
        self._partial_matches += count_partial_matches(matches.gold, matches.predicted, num_labels)
        if probabilities is not None:
            places = rows_and_tokens(matches.predicted.starts, probabilities.shape[1])
            self._calibration += count_calibration(
                probabilities.detach().cpu().numpy()[places],
                matches.is_right(),
                self._calibration.shape[1],
            )

    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        """Returns the metrics of everything since the last reset, over all workers.

        The keys are those of docs/reference/metrics.md: precision, recall, F1 and numbers for each
        label, `-overall` (micro average) and `-macro`, the mean over the labels that are gold or
        predicted somewhere, of spans and, as `token-precision-PER` and so on, of tokens. For plain
        labels, only those of tokens, and `accuracy`. With calibration bins also `calibration-error`.

        The precision of a label that is never predicted is undefined, and so is the recall of one
        that is never gold. Here, and in the means, it is 0 as in seqeval.
        """
        labels = self._tables.labels
        tokens = _of_all_workers(self._token_confusions)
        metrics: Dict[str, float] = {}
        if self._has_spans:
            spans = _of_all_workers(self._span_confusions)
            metrics = metrics_by_label(labels, counts_of_confusions(spans, len(labels)))
        else:
            metrics["accuracy"] = float(tokens.trace() / max(tokens.sum(), 1))
        of_tokens = metrics_by_label(labels, counts_of_confusions(tokens, len(labels)))
        metrics.update((f"token-{name}", value) for name, value in of_tokens.items())
        if self._calibration.size:
            counts = _of_all_workers(self._calibration)
            metrics["calibration-error"] = expected_calibration_error(counts)
        if reset:
            self.reset()
        return metrics

    def get_confusions(self) -> Dict[str, int]:
        """Returns how often each label was predicted as each other since the last reset, on all workers.

        These are `confusion-LOC>PER` of spans, see `tagger.spans.matching.count_span_confusions`, and
        `token-confusion-LOC>O`, if above 0: too many for the trainer to print at each epoch.
        """
        labels = self._tables.labels
        classes = [*labels, NO_LABEL]
        tokens = named_confusions(_of_all_workers(self._token_confusions), classes, classes)
        confusions = {f"token-confusion-{name}": number for name, number in tokens}
        if self._has_spans:
            spans = named_confusions(
                _of_all_workers(self._span_confusions),
                rows=[*labels, *ERRORS_OF_PREDICTED],
                columns=[*labels, *ERRORS_OF_GOLD],
            )
            confusions.update((f"confusion-{name}", number) for name, number in spans)
        return confusions

    def get_partial_metrics(self) -> Dict[str, float]:
        """Returns `partial_metrics` over all workers; nothing for plain labels."""
        if not self._has_spans:
            return {}
        return partial_metrics(self._tables.labels, _of_all_workers(self._partial_matches))

    def format_calibration(self) -> str:
        """Returns the calibration bins of the pass that the last reset ended, as a table to read."""
        return format_calibration_table(_of_all_workers(self._finished_calibration))

    def reset(self) -> None:
        num_labels = len(self._tables.labels)
        self._token_confusions = np.zeros((num_labels + 1,) * 2, dtype=np.int64)
        self._span_confusions = np.zeros((num_labels + len(ERRORS_OF_GOLD),) * 2, dtype=np.int64)
        self._partial_matches = np.zeros(
            (len(SCHEMES), num_labels + 1, len(OUTCOMES)), dtype=np.int64
        )
        self._finished_calibration = self._calibration
        self._calibration = np.zeros_like(self._calibration)

    def _check_indices(self, name: str, indices: np.ndarray, lowest: int) -> None:
        if indices.size and not lowest <= indices.min() <= indices.max() < self._num_tags:
            wrong = indices[(indices < lowest) | (indices >= self._num_tags)][0]
            raise ValueError(
                f"`{name}` holds {wrong} at a token that the mask keeps, expected tag indices from "
                f"{lowest} to {self._num_tags - 1}; check that they are made with this vocabulary"
            )


def _token_confusions(
    tables: TagTables, predicted_tags: np.ndarray, gold_tags: np.ndarray
) -> np.ndarray:
    """Counts tokens, (N,), by gold and predicted label, `NO_LABEL` last: (C + 1, C + 1) int64."""
    num_classes = len(tables.labels) + 1
    is_known = (gold_tags != UNKNOWN) & (gold_tags < len(tables.label_of) - 1)
    # Tags without a label have -1 in the table, which becomes the last class.
    rows, columns = (
        tables.label_of[tags[is_known]] % num_classes for tags in (gold_tags, predicted_tags)
    )
    cells = np.bincount(rows * num_classes + columns, minlength=num_classes**2)
    return cells.reshape(num_classes, num_classes)


def _of_all_workers(counts: np.ndarray) -> np.ndarray:
    return dist_reduce_sum(torch.from_numpy(counts)).cpu().numpy()
