"""Compares variants of a study over seeds and over test documents.

Letters: `n` seeds, `S` documents if the test file marks them, else sentences or texts, `C` labels,
`R` resamples.
"""

from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.metrics.intervals import percentile_intervals
from tagger.metrics.label_metrics import MEASURES, macro_average_of_draws, precision_recall_f1
from tagger.tools.runs.results import Column, format_rows, write_table
from tagger.tools.runs.work import SentenceCounts

NUM_RESAMPLES = 2_000
_PREFIX = "test_"


class Difference(NamedTuple):
    """A mean difference in percentage points, and its 95 % interval."""

    mean: float
    low: float
    high: float


#: Differences by name of the variant and title of the column.
Differences = Mapping[str, Mapping[str, Difference]]


def compare(
    counts: Mapping[str, Mapping[int, SentenceCounts]], baseline: str, columns: Sequence[Column]
) -> Dict[str, Dict[str, Difference]]:
    """Compares variants with a baseline by the paired bootstrap.

    Each resample draws as many seeds and as many documents as there are, with replacement, and uses
    them for both variants (Efron & Tibshirani 1993, chapter 8). If the file marks no documents, it
    draws sentences, as in Koehn 2004. So the interval covers the chance in both. With three seeds, it
    covers too little of the chance in seeds: that part is 0.8 times as wide as it should be.

    Only columns with precision, recall or F1 on test data are compared, of labels, `overall` or
    `macro`. Seeds that either variant lacks are left out, and so are variants that have another
    number of test documents or no seed in common with the baseline. Returns differences by variant
    and by the title of a column.
    """
    found: Dict[str, Dict[str, Difference]] = {}
    for name, by_seed in counts.items():
        seeds = sorted(by_seed.keys() & counts[baseline].keys())
        if name == baseline or not seeds:
            continue
        pairs = [(by_seed[seed], counts[baseline][seed]) for seed in seeds]
        if any(len(one.counts) != len(other.counts) for one, other in pairs):
            continue
        found[name] = _differences(pairs, columns)
    return found


def _differences(
    pairs: Sequence[Tuple[SentenceCounts, SentenceCounts]], columns: Sequence[Column]
) -> Dict[str, Difference]:
    rng = np.random.default_rng(0)
    num_sentences = len(pairs[0][0].counts)
    # (R, S), how often each sentence is drawn
    draws = rng.multinomial(
        num_sentences, np.full(num_sentences, 1 / num_sentences), NUM_RESAMPLES
    ).astype(np.float32)
    chosen = rng.integers(len(pairs), size=(NUM_RESAMPLES, len(pairs)))
    measured = [[_measured(one, draws, columns) for one in pair] for pair in pairs]
    differences = {}
    for title in measured[0][0]:
        # (n, R + 1); the last column is for the original sentences
        by_seed = 100 * np.stack([one[title] - other[title] for one, other in measured])
        resampled = by_seed[chosen, np.arange(NUM_RESAMPLES)[:, np.newaxis]].mean(axis=1)
        low, high = percentile_intervals(resampled)
        differences[title] = Difference(float(by_seed[:, -1].mean()), float(low), float(high))
    return differences


def _measured(
    found: SentenceCounts, draws: np.ndarray, columns: Sequence[Column]
) -> Dict[str, np.ndarray]:
    """Returns the measure of each column, (R + 1,), for all resamples and the original sentences."""
    labels, counts = found
    flat = counts.reshape(len(counts), -1).astype(np.float32)
    sums = np.concatenate([draws @ flat, flat.sum(axis=0, keepdims=True)])
    sums = sums.reshape(-1, 3, len(labels)).astype(np.float64)
    values = {}
    for title, metrics in columns:
        measures = [_measure(metric, labels, sums) for metric in metrics]
        known = [each for each in measures if each is not None]
        if len(known) == len(metrics):
            values[title] = np.mean(known, axis=0)
    return values


def _measure(metric: str, labels: List[str], sums: np.ndarray) -> Optional[np.ndarray]:
    """Returns a metric, (R + 1,), from sums, (R + 1, 3, C); None if it is not a metric of labels."""
    measure = next((each for each in MEASURES if metric.startswith(f"{_PREFIX}{each}-")), None)
    if measure is None:
        return None
    name, index = metric[len(f"{_PREFIX}{measure}-") :], MEASURES.index(measure)
    if name == "overall":
        return precision_recall_f1(np.moveaxis(sums.sum(axis=2), 1, 0))[index]
    if name == "macro":
        return macro_average_of_draws(sums, sums[-1])[index]
    if name in labels:
        return precision_recall_f1(sums[:, :, labels.index(name)].T)[index]
    return None


def format_differences(differences: Differences, baseline: str) -> str:
    """Formats the result of `compare` as a Markdown table with one line per variant."""
    titles = list(dict.fromkeys(title for cells in differences.values() for title in cells))
    shown = {
        name: {
            title: f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"
            for title, (mean, low, high) in cells.items()
        }
        for name, cells in differences.items()
    }
    return format_rows(titles, shown, f"difference from {baseline}")


def write_differences(differences: Differences, path: Path) -> None:
    """Writes a CSV file with one line for each variant and column."""
    rows = (
        {
            "variant": name,
            "column": title,
            **{key: round(number, 6) for key, number in difference._asdict().items()},
        }
        for name, cells in differences.items()
        for title, difference in cells.items()
    )
    write_table(path, ["variant", "column", *Difference._fields], rows)
