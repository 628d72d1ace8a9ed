"""The thresholds at which labels are predicted, their scores, and their tuning."""

from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.distributed
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary

from tagger.metrics import MultiLabelScores
from tagger.modules.counted_labels import CountedLabels
from tagger.threshold_tuning import TuningTarget, check_tuning_target, tune_thresholds
from tagger.vocabulary import tags_in_order


class LabelThresholds(torch.nn.Module):
    """Decides from probabilities which labels items have, and scores the decisions.

    For any model whose items, tokens or whole texts, may have several labels. The thresholds are a
    buffer, saved with the model. Between `start_tuning` and `stop_tuning`, which the trainer's callback
    `tune_thresholds` calls, each pass over development data ends with thresholds tuned to it, and its
    scores are theirs.

    Args:
        vocab: holds the labels.
        label_namespace: the vocabulary's namespace of the labels.
        threshold: of every label, until tuned.

    Raises:
        ConfigurationError: if the vocabulary has no labels, or the threshold is no probability.
    """

    thresholds: torch.Tensor

    def __init__(
        self, vocab: Vocabulary, label_namespace: str = "labels", threshold: float = 0.5
    ) -> None:
        super().__init__()
        if not 0 < threshold < 1:
            raise ConfigurationError(
                f"`threshold` must be a probability, above 0 and below 1; got {threshold!r}"
            )
        num_labels = len(tags_in_order(vocab, label_namespace))
        self.register_buffer("thresholds", torch.full((num_labels,), threshold))
        # For the scores of frequent and of rare labels.
        self.counts = CountedLabels(vocab=vocab, label_namespace=label_namespace)
        self._scores = MultiLabelScores(vocab, label_namespace)
        self._target: Optional[TuningTarget] = None
        self._least_positives = 1
        self._seen: List[Tuple[torch.Tensor, torch.Tensor]] = []

    def forward(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Returns which labels are predicted, (..., C) bool, from their probabilities, (..., C)."""
        return probabilities >= self.thresholds

    def start_tuning(self, target: TuningTarget, least_positives: int = 1) -> None:
        """Starts to tune to what is scored outside training.

        Args:
            target: as for `tune_thresholds`, as is `least_positives`.
            least_positives: how many items must have a label for its threshold to be tuned.

        Raises:
            ConfigurationError: if the target is not known.
        """
        check_tuning_target(target)
        self._target = target
        self._least_positives = least_positives

    def stop_tuning(self) -> None:
        """Leaves the thresholds from now on as they are."""
        self._target = None
        self._seen.clear()

    def score(
        self,
        probabilities: torch.Tensor,
        targets: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        """Scores a batch.

        Args:
            probabilities: (..., C).
            targets: (..., C), 1 where the item has the label, 0 where it has not, -1 where that is
                unknown and does not count.
            mask: (...) bool, which items are real; all by default.
        """
        if mask is None:
            mask = torch.ones_like(targets[..., 0], dtype=torch.bool)
        self._scores(self(probabilities), targets, mask, probabilities)
        if self._is_tuning():
            seen = probabilities.detach()[mask].float(), targets[mask].to(torch.int8)
            self._seen.append((seen[0].cpu(), seen[1].cpu()))

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """Returns the scores since the last reset, as `MultiLabelScores` does.

        While tuning, a reset, the end of a pass over development data, tunes the thresholds first, and
        the scores are those of the tuned ones.
        """
        if reset and self._is_tuning():
            self._tune()
        if self.counts.is_counted():
            self._scores.label_counts = self.counts.label_counts.tolist()
        return self._scores.get_metric(reset)

    def _is_tuning(self) -> bool:
        return self._target is not None and not self.training

    def _tune(self) -> None:
        empty = torch.empty(0, len(self.thresholds))
        probabilities, targets = (
            torch.cat(parts) for parts in zip((empty, empty.to(torch.int8)), *self._seen)
        )
        self._seen.clear()
        assert self._target is not None
        tuned = tune_thresholds(
            _of_all_workers(probabilities),
            _of_all_workers(targets),
            self._target,
            least_positives=self._least_positives,
        )
        self.thresholds.copy_(tuned)
        self._scores.reset()
        self._scores(probabilities >= tuned, targets, probabilities=probabilities)


def _of_all_workers(share: torch.Tensor) -> torch.Tensor:
    if not is_distributed():
        return share
    shares: List[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(shares, share)
    return torch.cat(shares)
