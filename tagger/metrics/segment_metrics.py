"""Metrics of segments: runs of steps with one label."""

from collections import defaultdict
from typing import Any, DefaultDict, Dict, List, Optional, Sequence

import numpy as np
import torch
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric

from tagger.common.ranges import check_whole
from tagger.common.training_counts import gather_from_workers
from tagger.common.vocabulary import tags_in_order
from tagger.metrics.label_metrics import metrics_by_label
from tagger.spans.finding import UNKNOWN, tag_tables
from tagger_texts.recordings import StepWindow


@Metric.register("segment_metrics")
class SegmentMetrics(Metric):
    """Precision, recall and F1 of segments, with borders that may differ by a tolerance.

    A segment is a run of steps with one label. A predicted segment is right if a gold segment of its
    label begins and ends within `tolerance` steps of it; each is matched once. Steps with an unknown
    label are left out, as if they had not been recorded: a border inside an unknown stretch is right
    anywhere in it. The windows of a recording are put together first, so a pass keeps all labels.

    Args:
        vocab: Holds the tags.
        tolerance: The most steps between two onsets, and between two offsets.
        label_namespace: The vocabulary's namespace of the tags.
        tag_encoding: How tags spell spans; None for plain labels. Neighbouring spans of a label are one.
    """

    supports_distributed = True

    def __init__(
        self,
        vocab: Vocabulary,
        tolerance: int,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
    ) -> None:
        check_whole("segment_tolerance", tolerance, least=0)
        self._tolerance = tolerance
        self._tags = tags_in_order(vocab, label_namespace)
        self._tables = tag_tables(self._tags, tag_encoding)
        self.reset()

    def __call__(  # type: ignore[override]
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor,
        metadata: Sequence[Dict[str, Any]],
    ) -> None:
        """Adds a batch.

        Args:
            predictions: (B, T) int64, tags; or (B, T, C) bool, labels.
            gold: (B, T) or (B, T, C) int64; -1 where unknown.
            mask: (B, T) bool, right-padded.
            metadata: Its `recording` and `window` place a row; without, a row is a recording.
        """
        lengths = mask.sum(1).tolist()
        for row, (length, place) in enumerate(zip(lengths, metadata)):
            sides = (each[row, :length].cpu().numpy() for each in (predictions, gold))
            window = place.get("window", StepWindow(0, length, 0, length))
            name = place.get("recording", len(self._parts))
            self._parts[name].append((window.first, *(side[window.own] for side in sides)))

    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        """Returns `segment-precision-walk` and so on, as `metrics_by_label` names them."""
        recordings: DefaultDict[Any, List[Any]] = defaultdict(list)
        for worker, of_worker in enumerate(gather_from_workers(dict(self._parts))):
            for name, parts in of_worker.items():
                recordings[name if isinstance(name, str) else (worker, name)] += parts
        counts = np.zeros((3, len(self._tables.labels)), dtype=np.int64)
        for parts in recordings.values():
            parts.sort(key=lambda part: part[0])
            _, predicted, gold = zip(*parts)
            counts += self._count(np.concatenate(predicted), np.concatenate(gold))
        if reset:
            self.reset()
        metrics = metrics_by_label(self._tables.labels, counts)
        return {f"segment-{name}": value for name, value in metrics.items()}

    def reset(self) -> None:
        # By recording, the first step of a window, with the predictions and the gold labels.
        self._parts: DefaultDict[Any, List[Any]] = defaultdict(list)

    def _count(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Returns the numbers of correct, predicted and gold segments by label, (3, C)."""
        counts = []
        for label, name in enumerate(self._tables.labels):
            if gold.ndim == 2:
                column = self._tags.index(name)
                is_known = gold[:, column] != UNKNOWN
                sides = [side[is_known, column] > 0 for side in (predicted, gold)]
            else:
                known = (side[gold != UNKNOWN] for side in (predicted, gold))
                sides = [self._tables.label_of[side] == label for side in known]
            found, true = map(segments, sides)
            counts.append([num_matches(found, true, self._tolerance), len(found), len(true)])
        return np.array(counts).T


def segments(is_inside: np.ndarray) -> np.ndarray:
    """Returns the first and the last step of each run, (S, 2), in which `is_inside`, (T,) bool.

    Example:
        >>> segments(np.array([True, True, False, True])).tolist()
        [[0, 1], [3, 3]]
    """
    changes = np.diff(np.concatenate([[0], is_inside, [0]]).astype(np.int8))
    return np.stack([(changes > 0).nonzero()[0], (changes < 0).nonzero()[0] - 1], axis=1)


def num_matches(predicted: np.ndarray, gold: np.ndarray, tolerance: int) -> int:
    """Returns how many segments, (S, 2) each, can be paired with both borders within the tolerance.

    Segments are in order and do not overlap, so the earliest free candidate is always a best choice.
    """
    number = next_free = 0
    for borders in gold:
        for at in range(next_free, len(predicted)):
            difference = predicted[at] - borders
            if difference[0] > tolerance:
                break
            if difference[0] < -tolerance:
                next_free = at + 1
            elif abs(difference).max() <= tolerance:
                number, next_free = number + 1, at + 1
                break
    return number
