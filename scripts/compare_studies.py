#!/usr/bin/env python
"""Puts the differences of several studies side by side: a table for a page, and a figure.

    python scripts/compare_studies.py runs/wnut17 runs/crossner_music --titles WNUT-17 music

The folders are those of `allennlp study` with a `baseline`. Each becomes a column of the table, which
has the difference of each variant from the baseline in points, with its 95 % interval; a difference
whose interval does not hold 0 is bold. The first row has the baseline itself: the mean of its runs.

With `--by-count`, a second table has a column for labels with few, more and many training entities, of
all studies together: the mean over labels of the difference in F1 and in recall. It shows the variants
that all studies have. Labels with fewer than ten test entities do not count.
"""

import argparse
import itertools
import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from allennlp.common import Params
from allennlp.data import DatasetReader

import tagger.commands.components  # noqa: F401  (registers them)
from tagger.spans import tags_to_spans
from tagger.tools.reports.figures import draw_differences
from tagger.tools.runs.results import read_table
from tagger.tools.studies.comparison import Difference, read_differences

#: Where the ranges of training entities begin, but for the first.
LEAST_COUNTS = (30, 300, 3_000)
#: F1 of fewer says nothing.
LEAST_TEST_ENTITIES = 10
_METRICS = {"micro F1": "test_f1-measure-overall", "macro F1": "test_f1-measure-macro"}


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    titles = options.titles or [folder.name for folder in options.folders]
    if len(titles) != len(options.folders):
        raise SystemExit(
            f"--titles must be as many as folders, {len(options.folders)}; got {len(titles)}"
        )
    try:
        found = {
            title: {
                name: cells[options.column]
                for name, cells in read_differences(folder / "differences.csv").items()
                if options.column in cells
            }
            for title, folder in zip(titles, options.folders)
        }
        level = [_mean_of(folder, options) for folder in options.folders]
    except OSError as error:
        raise SystemExit(f"{error}; run `allennlp study` with a `baseline` first") from None
    print(format_table(found, options.baseline, level))
    if options.by_count:
        print(f"\n{format_by_count(options.folders, options.baseline)}")
    if options.figure is not None:
        by_variant: Dict[str, Dict[str, Difference]] = {}
        for study, of_variants in found.items():
            for variant, difference in of_variants.items():
                by_variant.setdefault(variant, {})[study] = difference
        svg = draw_differences(by_variant, options.baseline)
        options.figure.write_text(svg, encoding="utf-8")


def format_table(
    found: Dict[str, Dict[str, Difference]], baseline: str, level: Sequence[Optional[float]]
) -> str:
    """Returns a Markdown table, with a row for each variant and a column for each study.

    Args:
        found: By study and variant.
        baseline: What the variants are compared with.
        level: The baseline's own measure in each study, in percent; None where it is unknown.
    """
    names = sorted({name for cells in found.values() for name in cells})
    levels = ("–" if each is None else f"{each:.1f}" for each in level)
    lines = [
        f"| | {' | '.join(found)} |",
        f"|---|{'---|' * len(found)}",
        f"| {baseline} | {' | '.join(levels)} |",
    ]
    for name in names:
        texts = [_text(cells[name]) if name in cells else "–" for cells in found.values()]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _text(difference: Difference) -> str:
    mean, low, high = (f"{number:+.1f}" for number in difference)
    text = f"{mean} ({low} to {high})"
    return f"**{text}**" if difference.low > 0 or difference.high < 0 else text


def format_by_count(folders: Sequence[Path], baseline: str) -> str:
    """Returns a Markdown table, with a row for each variant and a column for each range of counts."""
    cells: Dict[str, Dict[int, List[Tuple[float, float]]]] = {}
    studies = {folder: _measures_of_labels(folder) for folder in folders}
    # Others would be means over other labels.
    names = set.intersection(*({*measured} for measured in studies.values()))
    for folder, measured in studies.items():
        ranges = {
            label: sum(count >= least for least in LEAST_COUNTS)
            for label, count in training_counts(folder).items()
        }
        for name in sorted(names):
            for label, measures in measured[name].items():
                others = measured[baseline].get(label)
                if label in ranges and others is not None:
                    f1, recall = (each - other for each, other in zip(measures, others))
                    of_name = cells.setdefault(name, {})
                    of_name.setdefault(ranges[label], []).append((f1, recall))
    bounds = [f"{low:,} to {high - 1:,}" for low, high in itertools.pairwise(LEAST_COUNTS)]
    titles = [f"below {LEAST_COUNTS[0]}", *bounds, f"{LEAST_COUNTS[-1]:,} or more"]
    lines = [
        f"| F1, recall | {' | '.join(titles)} |",
        f"|---|{'---|' * len(titles)}",
    ]
    for name in sorted(names - {baseline}):
        texts = (_mean_pair(cells[name].get(k, [])) for k in range(len(titles)))
        lines.append(f"| {name} | {' | '.join(texts)} |")
    sizes = (f"{len(cells[baseline].get(k, []))} labels" for k in range(len(titles)))
    return "\n".join([*lines, f"| | {' | '.join(sizes)} |"])


def training_counts(folder: Path) -> Dict[str, int]:
    """Returns how many training entities each label has, by the config of one of a study's runs."""
    config = json.loads(next(folder.glob("runs/*/*/config.json")).read_text())
    # Its own indexers may need a transformer.
    settings = {**config["dataset_reader"], "token_indexers": {"tokens": {"type": "single_id"}}}
    reader = DatasetReader.from_params(Params(dict(settings)))
    encoding = settings["tag_encoding"]
    counts: Counter = Counter()
    for instance in reader.read(config["train_data_path"]):
        tags = instance["tags"].labels  # type: ignore[attr-defined]
        counts.update(label for label, _ in tags_to_spans(tags, encoding))
    return dict(counts)


def _measures_of_labels(folder: Path) -> Dict[str, Dict[str, Tuple[float, float]]]:
    """Returns the mean F1 and recall, in percent, by variant and label."""
    rows = read_table(folder / "results.csv")
    by_variant: Dict[str, List[Dict[str, str]]] = {}
    for row in rows:
        by_variant.setdefault(row["variant"], []).append(row)
    prefix = "test_num-gold-"
    labels = [
        name[len(prefix) :]
        for name, value in rows[0].items()
        if name.startswith(prefix) and float(value or 0) >= LEAST_TEST_ENTITIES
    ]
    return {
        name: {
            label: (
                100 * statistics.mean(float(run[f"test_f1-measure-{label}"]) for run in runs),
                100 * statistics.mean(float(run[f"test_recall-{label}"]) for run in runs),
            )
            for label in labels
            if label != "overall"
        }
        for name, runs in by_variant.items()
    }


def _mean_pair(pairs: Sequence[Tuple[float, float]]) -> str:
    if not pairs:
        return "–"
    return ", ".join(f"{statistics.mean(each):+.1f}" for each in zip(*pairs))


def _mean_of(folder: Path, options: argparse.Namespace) -> Optional[float]:
    rows = read_table(folder / "results.csv")
    metric = _METRICS.get(options.column)
    values: List[float] = [
        float(row[metric]) for row in rows if metric in row and row["variant"] == options.baseline
    ]
    return 100 * statistics.mean(values) if values else None


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("folders", type=Path, nargs="+", metavar="FOLDER", help="of a study")
    add("--titles", nargs="+", help="one for each folder; by default the folders' names")
    add("--column", default="macro F1", help="the column of the studies' tables")
    add("--baseline", default="CRF", help="the variant that the studies compare with")
    add("--by-count", action="store_true", help="also compare by the number of training entities")
    add("--figure", type=Path, metavar="FILE", help="where to write the figure, as SVG")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
