"""Metrics of items that may have several labels, as an AllenNLP metric."""

from typing import Dict, List, Optional, Tuple

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from tagger.common.vocabulary import tags_in_order
from tagger.metrics.label_metrics import (
    MEASURES,
    is_never_found,
    mean_of_defined,
    metrics_by_label,
    numbers_of_labels,
)

#: The numbers of labels that an item may have, for metrics by this number.
NUMBERS = ("0", "1", "2", "3", "4", "5+")
#: Log-odds are clipped to this number and its negative.
_LIMIT = 16
_BINS_PER_UNIT = 64
_NUM_BINS = 2 * _LIMIT * _BINS_PER_UNIT


@Metric.register("multi_label_metrics")
class MultiLabelMetrics(Metric):
    """Precision, recall, F1 and AUC of labels; an item may have several labels, or none.

    Items are tokens or whole texts. Only counts are kept, so batches may be of any size and a corpus of
    any length. The AUC is computed from log-odds in bins of 1/64.

    Args:
        vocab: Holds the labels.
        label_namespace: The vocabulary's namespace of the labels.
        least_head_count: Labels with at least this many training items are the group `head`.
        most_tail_count: Labels with at most this many training items are the group `tail`; labels in
            between are the group `medium`. The groups need `label_counts`. The defaults are those of
            Huang et al. 2021.
        group_quantiles: Two shares, such as `[0.33, 0.67]`, that take the place of the two numbers:
            `tail` are labels with at most the count that is the first quantile of all labels' counts,
            `head` are labels with more than the second.
        label_counts: How many training items have each label; may be set later.
    """

    supports_distributed = True

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        least_head_count: int = 35,
        most_tail_count: int = 8,
        label_counts: Optional[List[int]] = None,
        group_quantiles: Optional[Tuple[float, float]] = None,
    ) -> None:
        if group_quantiles is not None:
            low, high = group_quantiles
            is_valid = 0 <= low <= high <= 1
            if not is_valid:
                raise ConfigurationError(
                    f"`group_quantiles` must be two ascending shares from 0 to 1, such as [0.33, 0.67]; "
                    f"got {list(group_quantiles)}"
                )
        self._group_quantiles = group_quantiles
        self._labels = tags_in_order(vocab, label_namespace)
        self._least_head_count = least_head_count
        self._most_tail_count = most_tail_count
        self.label_counts = label_counts
        self.reset()

    def __call__(
        self,
        predictions: torch.Tensor,
        gold_labels: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        probabilities: Optional[torch.Tensor] = None,
    ) -> None:
        """Counts the labels of a batch.

        Args:
            predictions: (..., C) bool, or 1 and 0: which labels are predicted.
            gold_labels: (..., C), 1 if the item has the label, 0 if it does not, -1 if that is unknown.
                An unknown one does not count, whatever is predicted.
            mask: (...) bool, which items are real; all by default.
            probabilities: (..., C), the labels' probabilities, for the AUC. Give them for every batch
                or for none.
        """
        num_labels = len(self._labels)
        if mask is None:
            mask = torch.ones_like(gold_labels[..., 0], dtype=torch.bool)
        if not predictions.shape == gold_labels.shape == (*mask.shape, num_labels) or (
            probabilities is not None and probabilities.shape != predictions.shape
        ):
            raise ValueError(
                f"`predictions`, `gold_labels` and `probabilities` must have one shape (..., C), C = "
                f"{num_labels}, and `mask` the shape (...); got {tuple(predictions.shape)}, "
                f"{tuple(gold_labels.shape)} and {tuple(mask.shape)}"
            )
        # (N, C)
        gold = gold_labels[mask].cpu()
        is_known = gold >= 0
        is_gold = gold > 0
        is_predicted = (predictions[mask].cpu() > 0) & is_known
        counted = (is_predicted & is_gold, is_predicted, is_gold, is_known)
        self._counts += torch.stack([each.sum(0) for each in counted])
        of_items = [*(each.sum(1) for each in counted[:3]), is_known.any(1).long()]
        numbers = is_gold.sum(1).clamp(max=len(NUMBERS) - 1)
        self._counts_by_number.index_add_(1, numbers, torch.stack(of_items))
        if probabilities is not None:
            chances = probabilities.detach()[mask].cpu()
            self._histograms += count_probabilities(chances, gold, is_known)

    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        """Returns the metrics of everything since the last reset, over all workers.

        Under `distributed` every worker must call this equally often.

        Returns:
            `precision-A`, `recall-A`, `f1-measure-A`, `num-gold-A` and `num-predicted-A` for each label;
            `-overall` those of all labels together (micro average); `-macro`, the means over labels; if
            training counts are known, `-head`, `-medium` and `-tail`, means and numbers of a group;
            `-zero` those of gold labels that are never found. `num-labels` is the number of labels that
            are gold somewhere, `num-labels-found` of those with an F1 above 0, also for groups.
            `by-number-f1-measure-2` and so on are those of items with as many gold labels.
            `hamming-loss` is the share of known labels that are wrong. At a reset, given probabilities,
            also `auc-A` for each label with positives and negatives, and their mean `auc-macro`.

            Undefined numbers, see `TagMetrics`, are 0; means leave them out, and are 0 if none is left.
        """
        counts = dist_reduce_sum(self._counts).cpu().numpy()
        true_positives, num_predicted, num_gold, num_known = counts.sum(1).tolist()
        num_wrong = num_predicted + num_gold - 2 * true_positives
        metrics = {
            **metrics_by_label(self._labels, counts[:3], mean_of_defined),
            **self._metrics_of_groups(counts[:3]),
            "hamming-loss": num_wrong / max(num_known, 1),
            **self._metrics_by_number(),
        }
        if reset:
            metrics.update(self._areas())
            self.reset()
        return metrics

    def reset(self) -> None:
        # True positives, predicted, gold, known.
        self._counts = torch.zeros(4, len(self._labels), dtype=torch.long)
        # True positives, predicted, gold, items, by the number of gold labels of the item.
        self._counts_by_number = torch.zeros(4, len(NUMBERS), dtype=torch.long)
        self._histograms = torch.zeros(2, len(self._labels), _NUM_BINS, dtype=torch.long)

    def _metrics_of_groups(self, counts: np.ndarray) -> Dict[str, float]:
        groups = {"zero": is_never_found(counts)}
        if self.label_counts is not None:
            of_training = np.asarray(self.label_counts)
            is_head = of_training >= self._least_head_count
            is_tail = of_training <= self._most_tail_count
            if self._group_quantiles is not None:
                lower, upper = np.quantile(of_training, self._group_quantiles)
                is_tail, is_head = of_training <= lower, of_training > upper
            groups = {"head": is_head, "medium": ~is_head & ~is_tail, "tail": is_tail, **groups}
        metrics: Dict[str, float] = {}
        for name, is_member in groups.items():
            of_group = counts[:, is_member]
            _, *totals = of_group.sum(axis=1).tolist()
            measures = (*MEASURES, "num-predicted", "num-gold")
            for measure, value in zip(measures, [*mean_of_defined(of_group), *totals]):
                metrics[f"{measure}-{name}"] = value
            metrics.update(numbers_of_labels(of_group, f"-{name}"))
        return metrics

    def _metrics_by_number(self) -> Dict[str, float]:
        # (4, numbers)
        counts = dist_reduce_sum(self._counts_by_number).cpu().numpy()
        metrics = metrics_by_label(NUMBERS, counts[:3])
        metrics.update(zip((f"num-items-{number}" for number in NUMBERS), counts[3].tolist()))
        occurring = {number for number, total in zip(NUMBERS, counts[3]) if total}
        return {
            f"by-number-{name}": value
            for name, value in metrics.items()
            if name.rpartition("-")[2] in occurring
        }

    def _areas(self) -> Dict[str, float]:
        histograms = dist_reduce_sum(self._histograms).cpu()
        if not histograms.any():
            return {}
        areas = area_under_curve(histograms)
        is_defined = ~areas.isnan()
        by_label = {
            f"auc-{self._labels[index]}": float(areas[index])
            for index in is_defined.nonzero()[:, 0].tolist()
        }
        return {**by_label, "auc-macro": float(areas[is_defined].mean()) if by_label else 0.0}


def count_probabilities(
    probabilities: torch.Tensor, gold_labels: torch.Tensor, is_known: torch.Tensor
) -> torch.Tensor:
    """Counts probabilities, (N, C), in H bins of log-odds: (2, C, H) int64, negatives first."""
    num_labels = gold_labels.shape[1]
    log_odds = torch.logit(torch.where(is_known, probabilities.double(), 0.5))
    bins = ((log_odds.clamp(-_LIMIT, _LIMIT) + _LIMIT) * _BINS_PER_UNIT).long()
    labels = torch.arange(num_labels, device=gold_labels.device)
    cells = ((gold_labels > 0) * num_labels + labels) * _NUM_BINS + bins.clamp(max=_NUM_BINS - 1)
    counts = torch.bincount(cells[is_known], minlength=2 * num_labels * _NUM_BINS)
    return counts.view(2, num_labels, _NUM_BINS)


def area_under_curve(counts: torch.Tensor) -> torch.Tensor:
    """Returns how often a positive has a higher probability than a negative; a tie counts half.

    All probabilities of one bin are ties, so odds that differ by less than 1.6 % may count as equal.
    Returns (C,) float64, NaN for a label without a positive or without a negative.
    """
    negatives, positives = counts.double()
    below = negatives.cumsum(1) - negatives
    num_right = (positives * (below + negatives / 2)).sum(1)
    return num_right / (positives.sum(1) * negatives.sum(1))
