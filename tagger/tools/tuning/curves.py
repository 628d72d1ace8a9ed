"""Curves of each label's precision and recall by its bias, as shown behind a tagger's dials."""

import json
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Union

import numpy as np

from tagger.common.ranges import is_number
from tagger.metrics.label_metrics import precision_recall_f1
from tagger.tools.tuning.decoding import COARSE_STEP, LARGEST_BIAS, DecodingTuner, Settings
from tagger_compat.tar_files import read_member

#: The name of the file with the curves in an archive or a run's folder.
CURVES_NAME = "decoding_curves.json"


class Curve(NamedTuple):
    """Precision and recall of a label by its bias, with the settings of all other labels unchanged."""

    num_gold: int  # The number of gold entities; recall moves in steps of one over this number
    biases: List[float]  # In nats, ascending
    precisions: List[Optional[float]]  # For each bias, from 0 to 1; None where nothing is predicted
    recalls: List[Optional[float]]  # For each bias, from 0 to 1; None if there is no gold entity


class DecodingCurves(NamedTuple):
    """The curves of all labels on a data set, and the name of its file."""

    data: str
    labels: Dict[str, Curve]

    def to_json(self) -> str:
        """Returns the curves as a JSON object."""
        labels = {label: curve._asdict() for label, curve in self.labels.items()}
        return json.dumps({"data": self.data, "labels": labels})

    @classmethod
    def from_json(cls, text: Union[str, bytes]) -> "DecodingCurves":
        """Reads the output of `to_json`."""
        try:
            curves: Dict[str, Any] = json.loads(text)
            labels = {label: Curve(**curve) for label, curve in curves["labels"].items()}
            if not all(map(_is_valid, labels.values())):
                raise ValueError("numbers out of range")
            return cls(str(curves["data"]), labels)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"`{CURVES_NAME}` must hold what `tune-decoding --curves` writes, got "
                f"{text[:80]!r} ({error}); make it again"
            ) from error


def _is_valid(curve: Curve) -> bool:
    """Whether each bias has its precision and recall, and all numbers are in their ranges."""
    shares = [each for each in (*curve.precisions, *curve.recalls) if each is not None]
    return (
        len(curve.biases) == len(curve.precisions) == len(curve.recalls)
        and is_number(curve.num_gold, 0)
        and all(map(is_number, curve.biases))
        and all(is_number(each, 0, 1) for each in shares)
    )


def decoding_curves(tuner: DecodingTuner, settings: Settings, data: str) -> DecodingCurves:
    """Tries the coarse biases of `DecodingTuner.tune` on each label, leaving all others unchanged."""
    num_steps = round(LARGEST_BIAS / COARSE_STEP)
    biases = [step * COARSE_STEP for step in range(-num_steps, num_steps + 1)]
    curves = {}
    for index, label in enumerate(tuner.labels):
        threshold = settings.entity_thresholds.get(label)
        tried = [settings.changed(label, bias, threshold) for bias in biases]
        # (3, biases), true positives, predicted and gold
        counts = np.stack([tuner.counts(each)[:, index] for each in tried], axis=1)
        precisions, recalls, _ = precision_recall_f1(counts)
        is_predicted, is_gold = counts[1] > 0, counts[2] > 0
        curves[label] = Curve(
            int(counts[2, 0]), biases, _known(precisions, is_predicted), _known(recalls, is_gold)
        )
    return DecodingCurves(data, curves)


def saved_curves(archive_file: Union[str, Path]) -> Optional[DecodingCurves]:
    """Returns the curves in an archive or a run's folder, or None if it has none."""
    path = Path(archive_file)
    if path.is_dir():
        file = path / CURVES_NAME
        return DecodingCurves.from_json(file.read_bytes()) if file.is_file() else None
    content = read_member(path, CURVES_NAME)
    return None if content is None else DecodingCurves.from_json(content)


def _known(values: np.ndarray, is_known: np.ndarray) -> List[Optional[float]]:
    """Returns numbers rounded to four digits, None where they are undefined."""
    return [round(float(v), 4) if known else None for v, known in zip(values, is_known)]
