#!/usr/bin/env python
"""Puts the differences of several studies side by side: a table for a page, and a figure.

    python scripts/compare_studies.py runs/wnut17 runs/crossner_music --titles WNUT-17 music

The folders are those of `allennlp study` with a `baseline`. Each becomes a column of the table, which
has the difference of each variant from the baseline in points, with its 95 % interval; a difference
whose interval does not hold 0 is bold. The first row has the baseline itself: the mean of its runs.
"""

import argparse
import csv
import statistics
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from tagger.reports.figures import draw_differences
from tagger.studies.comparison import Difference
from tagger.studies.results import read_text_cell

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
            title: read_differences(folder / "differences.csv", options.column)
            for title, folder in zip(titles, options.folders)
        }
        level = [_mean_of(folder, options) for folder in options.folders]
    except OSError as error:
        raise SystemExit(f"{error}; run `allennlp study` with a `baseline` first") from None
    print(format_table(found, options.baseline, level))
    if options.figure is not None:
        options.figure.write_text(draw_differences(found, options.baseline), encoding="utf-8")


def read_differences(path: Path, column: str) -> Dict[str, Difference]:
    """Returns the differences of a column, by variant."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        read_text_cell(row["variant"]): Difference(
            *(float(row[name]) for name in Difference._fields)
        )
        for row in rows
        if read_text_cell(row["column"]) == column
    }


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


def _mean_of(folder: Path, options: argparse.Namespace) -> Optional[float]:
    with (folder / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    metric = _METRICS.get(options.column)
    values: List[float] = [
        float(row[metric])
        for row in rows
        if metric in row and read_text_cell(row["variant"]) == options.baseline
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
    add("--figure", type=Path, metavar="FILE", help="where to write the figure, as SVG")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
