#!/usr/bin/env python
"""Measures how well `compare-data` and `tune-decoding --recalibrate` work on texts of another kind.

    python scripts/experiments/measure_shift.py model.tar.gz data/conll2003/eng.testa -o shift.jsonl
        --new data/conll2003/eng.testb --new data/crossner_music/test.txt
        --new data/wnut17/emerging.test.annotated

All files are column files with tags, and the tagger must not be trained on them. Labels unknown to the
tagger are renamed if possible, and otherwise removed. Results are saved in OUTPUT, one line for each
row of the tables, so that an interrupted command can resume; the tables are printed at the end.
"""

import argparse
import functools
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
from allennlp.models import load_archive

import tagger  # noqa: F401  (AllenNLP then knows our components)
from tagger.metrics.calibration import count_calibration, expected_calibration_error
from tagger.tools.tuning.data_comparison import (
    compare_samples,
    feature_table,
    features_of_columns,
    in_runs,
)
from tagger.tools.tuning.estimates import (
    Estimate,
    corrected_probabilities,
    estimate,
    estimate_corrected,
    expected_counts,
    fitted_correction,
    measures,
    true_measures,
)
from tagger.tools.tuning.features import SentenceFeatures

#: CoNLL-2003's names for labels of CrossNER's music and WNUT-17.
RENAMED = {
    **dict.fromkeys(("musicalartist", "person"), "PER"),
    **dict.fromkeys(("band", "organisation", "corporation", "group"), "ORG"),
    **dict.fromkeys(("country", "location"), "LOC"),
    **dict.fromkeys(
        ("album", "song", "award", "event", "misc", "creative-work", "product"), "MISC"
    ),
}
NUM_TEXTS = (1, 2, 5, 10, 20, 50, 100, 200)
NUM_LABELLED = (20, 50, 100, 200)
LEVEL = 0.05
MEASURES = ("precision", "recall", "F1")


class Results:
    """Rows of tables, saved in a file.

    Args:
        path: The file, with a JSON object on each line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._rows = {row["key"]: row["value"] for row in map(json.loads, lines)}

    def get(self, key: str, compute: Callable[[], Any]) -> Any:
        """Returns the value of a row, which is computed unless the file has it."""
        if key not in self._rows:
            self._rows[key] = json.loads(json.dumps(compute()))
            with self._path.open("a") as file:
                file.write(json.dumps({"key": key, "value": self._rows[key]}) + "\n")
        return self._rows[key]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    archive = load_archive(options.archive)
    seen = {path: _see(archive, path) for path in dict.fromkeys([options.file, *options.new])}
    results = Results(options.output)
    home = seen[options.file]
    print("\n".join(_false_alarms(results, seen, options.draws)))
    print("\n".join(_power(results, options.file, seen, options.draws)))
    for path in options.new:
        print("\n".join(_estimates(results, options.file, home, path, seen[path])))
    for path, texts in seen.items():
        print("\n".join(_recalibration(results, path, texts, options.fits)))


def _see(archive: Any, path: str) -> SentenceFeatures:
    """Runs the tagger over a file with renamed labels."""
    labels = {tag.partition("-")[2] for tag in archive.model.tags}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(path).name
        with open(path, encoding="utf-8") as lines, copy.open("w", encoding="utf-8") as file:
            for line in lines:
                *columns, tag = line.split() or [""]
                prefix, _, label = tag.partition("-")
                label = label if label in labels else RENAMED.get(label, label)
                is_tag = bool(columns) and columns[0] != "-DOCSTART-" and prefix not in ("", "O")
                new = tag if not is_tag else f"{prefix}-{label}" if label in labels else "O"
                file.write(" ".join([*columns, new]) + "\n")
        return features_of_columns(archive.model, archive.validation_dataset_reader, str(copy))


class Draw(NamedTuple):
    """Groups drawn from a set of texts without replacement, and the features of all texts."""

    table: np.ndarray
    rng: np.random.Generator

    def rows(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the features of this many groups, and those of the others."""
        order = self.rng.permutation(len(self.table))
        return self.table[order[:number]], self.table[order[number:]]


def _rejects(first: np.ndarray, second: np.ndarray) -> bool:
    return compare_samples(first, second, num_permutations=999).p_value <= LEVEL


def _false_alarms(results: Results, seen: dict[str, SentenceFeatures], draws: int) -> list[str]:
    lines = [f"\nFalse alarms at p <= {LEVEL}: share of {draws} random splits of one file"]
    for path, texts in seen.items():
        table = feature_table(texts)[1]
        for number in (n for n in NUM_TEXTS if n <= len(table) // 2):

            def share(number: int = number, table: np.ndarray = table) -> float:
                draw = Draw(table, np.random.default_rng(number))
                return float(np.mean([_rejects(*draw.rows(number)[::-1]) for _ in range(draws)]))

            value = results.get(f"alarms {path} {number}", share)
            unit = texts.groups.kind
            line = f"{path:44} {number:4} {unit}s against the rest  {value:.3f}"
            if unit == "document":
                in_runs = functools.partial(_alarms_of_runs, texts, number, draws)
                value = results.get(f"alarms in runs {path} {number}", in_runs)
                line += f"; in runs of sentences {value:.3f}"
            lines.append(line)
    return lines


def _alarms_of_runs(texts: SentenceFeatures, number: int, draws: int) -> float:
    """The share of false alarms if drawn documents are concatenated without marking their borders."""
    rng = np.random.default_rng(number)
    size = int(np.bincount(texts.groups.of_sentence).max())
    alarms = []
    for _ in range(draws):
        drawn = rng.choice(texts.groups.number, number, replace=False)
        is_drawn = np.isin(texts.groups.of_sentence, drawn)
        tables = [
            feature_table(in_runs(_part(texts, part), size))[1] for part in (~is_drawn, is_drawn)
        ]
        alarms.append(_rejects(*tables))
    return float(np.mean(alarms))


def _part(features: SentenceFeatures, is_kept: np.ndarray) -> SentenceFeatures:
    """Selects sentences, keeping only words and features."""
    sums = {name: values[is_kept] for name, values in features.sums.items()}
    return features._replace(num_words=features.num_words[is_kept], sums=sums)


def _power(results: Results, home: str, seen: dict[str, SentenceFeatures], draws: int) -> list[str]:
    lines = [f"\nPower: share of {draws} draws of new texts that differ from all of {home}"]
    for path in (each for each in seen if each != home):
        both = [seen[home], seen[path]]
        if both[0].groups.kind != both[1].groups.kind:
            both = [in_runs(each, 1) for each in both]
        old, new = (feature_table(each)[1] for each in both)
        for number in (n for n in NUM_TEXTS if n <= len(new)):

            def share(number: int = number, old: Any = old, new: Any = new) -> float:
                draw = Draw(new, np.random.default_rng(number))
                return float(np.mean([_rejects(old, draw.rows(number)[0]) for _ in range(draws)]))

            value = results.get(f"power {home} {path} {both[0].groups.kind} {number}", share)
            lines.append(f"{path:44} {number:4} {both[0].groups.kind}s  {value:.3f}")
    return lines


def _estimates(
    results: Results, home: str, old: SentenceFeatures, path: str, new: SentenceFeatures
) -> list[str]:
    def compute() -> dict[str, Any]:
        texts = in_runs(new, 1) if new.groups.number == 1 else new
        found = {
            "own": estimate(texts),
            "corrected": estimate_corrected(texts, old),
            "truth": true_measures(texts),
        }
        return {name: np.stack(each).tolist() for name, each in found.items()}

    value = results.get(f"estimates {home} {path}", compute)
    found = {name: Estimate(*map(np.array, each)) for name, each in value.items()}
    lines = [f"\nEstimates for {path}, corrected by {home}: precision, recall, F1"]
    for k, label in enumerate([*new.labels, "overall"]):
        for name, each in found.items():
            cells = [
                f"{v:.3f} ({low:.3f}-{high:.3f})" for v, low, high in zip(*(c[:, k] for c in each))
            ]
            lines.append(f"{label:10} {name:10} " + "  ".join(cells))
    for name in ("own", "corrected"):
        errors = np.abs(found[name].values - found["truth"].values).mean(1)
        is_held = (found[name].lowest <= found["truth"].values) & (
            found["truth"].values <= found[name].highest
        )
        lines.append(
            f"{name}: mean distance from the truth {', '.join(f'{e:.3f}' for e in errors)}; "
            f"the truth is in {is_held.sum()} of {is_held.size} intervals"
        )
    return lines


def _recalibration(
    results: Results, path: str, features: SentenceFeatures, draws: int
) -> list[str]:
    lines = [
        f"\nRecalibration from labelled sentences of {path}, on the others: means of {draws} draws",
        "sentences  entities  error before  after (worst)  F1 off by, own  corrected",
    ]
    for number in (n for n in NUM_LABELLED if n <= len(features.num_words) // 2):
        row = results.get(
            f"recalibration {path} {number}",
            functools.partial(_recalibrated, features, number, draws),
        )
        entities, before, after, worst, own, corrected = row
        lines.append(
            f"{number:9} {entities:9.0f} {before:13.3f} {after:6.3f} ({worst:.3f}) {own:14.3f} "
            f"{corrected:10.3f}"
        )
    return lines


def _recalibrated(features: SentenceFeatures, number: int, draws: int) -> list[float]:
    found, rng, rows = features.candidates, np.random.default_rng(number), []
    for _ in range(draws):
        is_drawn = np.zeros(len(features.num_words), dtype=bool)
        is_drawn[rng.choice(len(is_drawn), number, replace=False)] = True
        correction = fitted_correction(features, is_drawn.astype(float))
        is_judged = found.is_predicted & ~is_drawn[found.sentences]
        errors = [
            expected_calibration_error(
                count_calibration(each[is_judged], found.is_right[is_judged])
            )
            for each in (found.probabilities, corrected_probabilities(features, correction))
        ]
        rest = features._replace(has_gold=features.has_gold & ~is_drawn)
        truth = true_measures(rest).values[2]
        off = [
            np.nanmean(
                np.abs(measures(expected_counts(features, each)[~is_drawn].sum(0))[2] - truth)
            )
            for each in (None, correction)
        ]
        num_entities = (found.is_predicted & is_drawn[found.sentences]).sum()
        rows.append([num_entities, *errors, errors[1], *off])
    table = np.array(rows, dtype=float)
    means = table.mean(0)
    means[3] = table[:, 3].max()
    return means.tolist()


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive", metavar="ARCHIVE")
    parser.add_argument(
        "file", metavar="CALIBRATION", help="labelled texts like those the tagger was trained on"
    )
    parser.add_argument("--new", metavar="FILE", action="append", default=[], help="others")
    parser.add_argument("-o", "--output", type=Path, required=True, help="where to save results")
    parser.add_argument("--draws", type=int, default=200, help="draws of texts per test (200)")
    text = "draws of labelled sentences per recalibration (20)"
    parser.add_argument("--fits", type=int, default=20, help=text)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
