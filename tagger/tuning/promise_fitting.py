"""Fits decoding settings so that precision or recall holds with a stated confidence, and says so."""

import datetime
import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple, Union

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tagger.data import ColumnDatasetReader
from tagger.tuning.curves import PROMISES_NAME
from tagger.tuning.decoding import DecodingTuner, Settings, Target
from tagger.tuning.promises import MOST_REPEATS, best_level, choose, p_value, units_needed
from tagger_compat.archive_guard import printable

#: The thresholds to test for a precision, from strict to loose. They do not depend on the data.
THRESHOLDS: List[float] = [
    *(1 - np.geomspace(1e-4, 0.09, 40)).tolist(),
    *np.linspace(0.9, 0, 19).tolist(),
]
#: The biases to test for a recall, in nats, from many entities to few.
BIASES: List[float] = np.arange(8, -8.25, -0.25).tolist()
#: Where tests start: at thresholds of about .999, .99, .95 and .8, and at biases of 8, 4, 2 and 1.
THRESHOLD_STARTS = [
    int(np.argmin(np.abs(np.array(THRESHOLDS) - t))) for t in (0.999, 0.99, 0.95, 0.8)
]
BIAS_STARTS = [BIASES.index(bias) for bias in (8, 4, 2, 1)]


class Promise(NamedTuple):
    """What holds for the distribution of the data, if their units are drawn independently from it.

    Attributes:
        label: The label.
        measure: `"precision"` or `"recall"`.
        level: The precision or recall is at least this.
        confidence: That all promises of one command hold together.
        unit: `"document"` or `"sentence"`.
        num_units: How many the data had.
        num_right: True positives in the data.
        num_total: Predicted entities for a precision, gold ones for a recall.
        data: The name of the file.
        sha256: Of the file's bytes.
        date: Of the command, as in `2026-01-31`.
        method: How the promise was tested.
    """

    label: str
    measure: str
    level: float
    confidence: float
    unit: str
    num_units: int
    num_right: int
    num_total: int
    data: str
    sha256: str
    date: str
    method: str = "Learn then Test, fallback procedure; Hall's t-test and binomial tail"

    def __str__(self) -> str:
        name = f"{self.measure} of {self.label} at least {self.level:g}"
        counted = f"{self.num_right} of {self.num_total} in {self.num_units} {self.unit}s"
        return f"{name}, with {100 * self.confidence:g} % confidence ({counted} of {self.data})"


class Units(NamedTuple):
    """How sentences fall into units.

    Attributes:
        unit: `"document"` or `"sentence"`.
        of_sentence: (S,) int64, the unit of each sentence, from 0 on.
    """

    unit: str
    of_sentence: np.ndarray

    @property
    def num_units(self) -> int:
        """How many units there are."""
        return int(self.of_sentence.max()) + 1


def units_of_file(reader: DatasetReader, path: str, num_sentences: int) -> Units:
    """Returns the documents of a column file, or its sentences where it does not tell documents.

    Args:
        reader: The reader of the sentences.
        path: The file.
        num_sentences: How many the reader found.

    Raises:
        ConfigurationError: If the reader left sentences out or cut some, so that documents are unknown.
    """
    if isinstance(reader, ColumnDatasetReader):
        sizes = reader.document_sizes(path)
        if sum(sizes) != num_sentences:
            raise ConfigurationError(
                f"`input_file` {path} has {sum(sizes)} sentences, but the dataset reader gives "
                f"{num_sentences}; let it read all sentences whole: see `max_instances` and "
                "`max_document_tokens`"
            )
        if len(sizes) > 1:
            return Units("document", np.repeat(np.arange(len(sizes)), sizes))
    return Units("sentence", np.arange(num_sentences))


def fit_promises(
    tuner: DecodingTuner,
    targets: Sequence[Target],
    start: Settings,
    confidence: float,
    units: Units,
    path: str,
) -> Tuple[Settings, List[Promise]]:
    """Chooses settings that keep all targets together with this confidence.

    A precision is reached by a threshold, which leaves other labels as they are, so each label is tested
    by itself with an equal part of the error (Bonferroni). A recall is reached by a bias, which changes
    other labels, so it comes alone.

    Args:
        tuner: Has the sentences, in the order of the file.
        targets: Precisions, or one recall.
        start: The settings to change; those of labels without a target stay.
        confidence: Above 0 and below 1.
        units: The units of the tuner's sentences.
        path: The file of the sentences.

    Raises:
        ConfigurationError: If an argument does not fit, or the data do not support a target. The message
            says what they support, and how many units would do.
    """
    _check(targets, confidence)
    tuner.check(targets)
    error = (1 - confidence) / len(targets)
    for target in targets:
        start = start.changed(target.label)
    settings, promises = start, []
    about = _about(path, confidence, units)
    for target in targets:
        k = tuner.labels.index(target.label)
        if target.measure == "precision":
            counts = tuner.counts_by_threshold(start, k, THRESHOLDS, units.of_sentence)
            index = _chosen(*counts, target, THRESHOLD_STARTS, error, units)
            settings = settings.changed(target.label, threshold=THRESHOLDS[index])
        else:
            tried = [start.changed(target.label, bias=bias) for bias in BIASES]
            by_unit = np.stack(
                [tuner.counts_by_unit(each, k, units.of_sentence) for each in tried], axis=1
            )
            counts = by_unit[0], by_unit[2]
            index = _chosen(*counts, target, BIAS_STARTS, error, units)
            settings = tried[index]
        num_right, num_total = (int(each[index].sum()) for each in counts)
        promises.append(Promise(*target, num_right=num_right, num_total=num_total, **about))
    return settings, promises


def _check(targets: Sequence[Target], confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ConfigurationError(f"`--confidence` must be above 0 and below 1, got {confidence:g}")
    measures = [target.measure for target in targets]
    if not measures or set(measures) - {"precision", "recall"}:
        raise ConfigurationError(
            "`--confidence` promises a precision or a recall; give --precision or --recall, and neither "
            "--f-beta nor --macro-f1"
        )
    if "recall" in measures and len(measures) > 1:
        raise ConfigurationError(
            "`--confidence` promises one recall by itself, since it changes what is found of other "
            "labels; give several --precision, or one --recall"
        )
    for target in targets:
        if target.value >= 1:
            raise ConfigurationError(
                f"no data can promise a {target.measure} of 1 for `{target.label}`; give less"
            )


def _about(path: str, confidence: float, units: Units) -> Dict[str, Any]:
    return {
        "confidence": confidence,
        "unit": units.unit,
        "num_units": units.num_units,
        "data": Path(path).name,
        "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        "date": datetime.date.today().isoformat(),
    }


def _chosen(
    num_right: np.ndarray,
    num_total: np.ndarray,
    target: Target,
    starts: Sequence[int],
    error: float,
    units: Units,
) -> int:
    """Returns the index of the setting for a target; see `choose`."""
    arguments = num_right, num_total, target.value, starts, error
    index = choose(*arguments)
    if index is not None:
        return index
    best, needed = best_level(*arguments), units_needed(*arguments)
    supported = "they support no level at all" if best is None else f"they support {best:g}"
    enough = (
        f"even {MOST_REPEATS} times as many like these would not do"
        if needed is None
        else f"about {needed - units.num_units} more {units.unit}s like these would do"
    )
    raise ConfigurationError(
        f"the {units.num_units} {units.unit}s cannot support a {target.measure} of {target.value:g} for "
        f"`{target.label}` with this confidence; {supported}, and {enough}; nothing is written"
    )


def saved_promises(archive_file: Union[str, Path]) -> List[Promise]:
    """Returns the promises that an archive holds, none if it was never given any.

    Raises:
        ConfigurationError: If they are not as `tune-decoding --confidence` writes them.
    """
    if Path(archive_file).is_dir():
        return []
    with tarfile.open(archive_file) as archive:
        if PROMISES_NAME not in archive.getnames():
            return []
        try:
            content: Any = archive.extractfile(PROMISES_NAME)
            promises = [Promise(**each) for each in json.load(content)]
        # A member that is a link has no content of its own, or none.
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            promises = []
    if not promises or not all(map(_is_valid, promises)):
        raise ConfigurationError(
            f"{archive_file}: `{PROMISES_NAME}` must hold what `tune-decoding --confidence` writes; "
            f"tune the tagger again"
        )
    return promises


def _is_valid(promise: Promise) -> bool:
    """Whether values have their types and ranges, and a terminal obeys none of them."""
    return (
        all(
            type(value) is kind and printable(str(value)) == str(value)
            for value, kind in zip(promise, Promise.__annotations__.values())
        )
        and promise.measure in ("precision", "recall")
        and promise.unit in ("document", "sentence")
        and 0 < promise.level < 1
        and 0 < promise.confidence < 1
    )


def check_promises(
    promises: Sequence[Promise], tuner: DecodingTuner, settings: Settings, units: Units
) -> str:
    """Tests promises on new data, and returns a line for each that says whether the data contradict it.

    They do if the hypothesis that the promise holds has a p-value of at most .05, by the test that
    `fit_promises` uses, on the entities that are wrong.

    Args:
        promises: The promises of a tagger.
        tuner: Has the new sentences, in the order of the file.
        settings: The settings of the tagger.
        units: The units of the sentences.
    """
    lines = []
    for promise in promises:
        if promise.label not in tuner.labels:
            raise ConfigurationError(
                f"a promise is about `{promise.label}`, which is no label of this tagger "
                f"({', '.join(tuner.labels)})"
            )
        label = tuner.labels.index(promise.label)
        right, predicted, gold = tuner.counts_by_unit(settings, label, units.of_sentence)
        total = predicted if promise.measure == "precision" else gold
        p = p_value(total - right, total, 1 - promise.level)
        lines.append(
            f"{promise.measure} of {promise.label} at least {promise.level:g}: {right.sum()} of "
            f"{total.sum()} in {units.num_units} {units.unit}s; "
            f"{'contradicted' if p <= 0.05 else 'not contradicted'} (p = {p:.4f})"
        )
    return "\n".join(lines)


def promises_to_json(promises: Sequence[Promise]) -> str:
    """Returns what `saved_promises` reads."""
    return json.dumps([promise._asdict() for promise in promises], indent=2)
