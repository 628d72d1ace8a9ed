"""Thresholds for predicting labels, with their metrics and their tuning."""

from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import torch
import torch.distributed
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary

from tagger.common.did_you_mean import did_you_mean
from tagger.common.ranges import check_number
from tagger.common.training_counts import CountedLabels
from tagger.common.vocabulary import tags_in_order
from tagger.metrics import MultiLabelMetrics

#: Finds thresholds, (C,), from probabilities, (N, C), and gold labels, (N, C).
ThresholdTuner = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class LabelThresholds(torch.nn.Module):
    """Decides from probabilities which labels items have, and measures the decisions.

    It works for any model of items, tokens or whole texts, that may have several labels. The thresholds
    are a buffer, saved with the model. The trainer's callback `tune_thresholds`, and the command
    `tune-decoding`, call `start_tuning` and `stop_tuning`. In between, thresholds are tuned at the end
    of each pass over development data, and the metrics of the pass are those of the tuned thresholds.

    Args:
        vocab: Holds the labels.
        label_namespace: The vocabulary's namespace of the labels.
        threshold: The threshold of every label, until tuned.
        group_quantiles: Two quantiles of the training counts between which labels are neither rare nor
            frequent in the metrics, see `MultiLabelMetrics`.
    """

    thresholds: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        threshold: float = 0.5,
        group_quantiles: Optional[Tuple[float, float]] = None,
    ) -> None:
        super().__init__()
        is_valid = 0 < threshold < 1
        check_number("threshold", threshold, is_valid, "a probability, above 0 and below 1")
        self.labels = tags_in_order(vocab, label_namespace)
        self.register_buffer("thresholds", torch.full((len(self.labels),), threshold))
        # For the metrics of frequent and of rare labels.
        self.counts = CountedLabels(vocab=vocab, label_namespace=label_namespace)
        self._metrics = MultiLabelMetrics(vocab, label_namespace, group_quantiles=group_quantiles)
        self._tuner: Optional[ThresholdTuner] = None
        self._seen: List[Tuple[torch.Tensor, torch.Tensor]] = []

    def forward(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Returns which labels are predicted, (..., C) bool, given their probabilities, (..., C)."""
        return probabilities >= self.thresholds

    def replace(self, changes: Mapping[str, float]) -> None:
        """Replaces the thresholds of some labels; the buffer itself may be shared and is not written."""
        thresholds = self.thresholds.clone()
        for label, threshold in changes.items():
            if label not in self.labels:
                raise ConfigurationError(
                    f"the tagger knows no label {label!r}; it has {', '.join(self.labels)}"
                    + did_you_mean(label, self.labels)
                )
            check_number(label, threshold, 0 <= threshold <= 1, "a threshold from 0 to 1")
            thresholds[self.labels.index(label)] = threshold
        self.thresholds = thresholds

    def start_tuning(self, tuner: ThresholdTuner) -> None:
        """Starts tuning the thresholds to the data of each pass that is not training."""
        self._tuner = tuner

    def stop_tuning(self) -> None:
        """Stops tuning the thresholds."""
        self._tuner = None
        self._seen.clear()

    def measure(
        self,
        probabilities: torch.Tensor,
        gold_labels: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        """Adds a batch to the metrics; `probabilities` are (..., C), others as for `MultiLabelLoss`."""
        if mask is None:
            mask = torch.ones_like(gold_labels[..., 0], dtype=torch.bool)
        self._metrics(self(probabilities), gold_labels, mask, probabilities)
        if self._tuner is not None and not self.training:
            seen = probabilities.detach()[mask].float(), gold_labels[mask].to(torch.int8)
            self._seen.append((seen[0].cpu(), seen[1].cpu()))

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """Returns the metrics since the last reset, which ends a pass; see `MultiLabelMetrics`."""
        if reset and self._tuner is not None and not self.training:
            self._tune(self._tuner)
        if self.counts.are_known():
            self._metrics.label_counts = self.counts.label_counts.tolist()
        return self._metrics.get_metric(reset)

    def _tune(self, tuner: ThresholdTuner) -> None:
        empty = torch.empty(0, len(self.thresholds))
        probabilities, gold_labels = (
            torch.cat(parts) for parts in zip((empty, empty.to(torch.int8)), *self._seen)
        )
        self._seen.clear()
        tuned = tuner(_of_all_workers(probabilities), _of_all_workers(gold_labels))
        self.thresholds.copy_(tuned)
        self._metrics.reset()
        self._metrics(probabilities >= tuned, gold_labels, probabilities=probabilities)


def thresholds_of(model: torch.nn.Module) -> Dict[str, LabelThresholds]:
    """Returns the thresholds in a model, by the names of the modules."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, LabelThresholds)
    }


def _of_all_workers(share: torch.Tensor) -> torch.Tensor:
    if not is_distributed():
        return share
    shares: List[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(shares, share)
    return torch.cat(shares)
