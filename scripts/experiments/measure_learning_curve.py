#!/usr/bin/env python
"""Measures how well `learning-curve` predicts: from half of a corpus, what the whole gives.

    python scripts/experiments/measure_learning_curve.py OUTPUT train.txt dev.txt [train.txt dev.txt ...]

For each pair of files it trains on shares of the documents up to the half and on all of them, predicts
the whole from the shares up to the half, and prints the prediction, its interval and what was measured,
overall and for each label. An interrupted command goes on where it stopped.
"""

import argparse
from pathlib import Path

import tagger  # noqa: F401  (AllenNLP then knows our components)
from tagger.common.console import say
from tagger.tools.runs.results import format_rows
from tagger.tools.studies.learning_curve import MULTIPLES, learning_curve

_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5)
_TWICE = MULTIPLES.index(2.0)


def main() -> None:
    """Runs the measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="the folder for all runs")
    parser.add_argument(
        "files", type=Path, nargs="+", help="training and development files, in turn"
    )
    parser.add_argument("--workers", type=int, help="how many jobs run in parallel")
    args = parser.parse_args()
    rows, num_inside, num_labels = {}, 0, 0
    for train, dev in zip(args.files[::2], args.files[1::2]):
        folder = args.output / f"{train.parent.name}_{train.stem}"
        whole = learning_curve(train, dev, folder, None, (*_SHARES, 1.0), (1,), args.workers)
        # The same parts and runs, without the whole.
        half = learning_curve(train, dev, folder, None, _SHARES, (1,), args.workers)
        measured = {each.name: each.qualities[-1] for each in whole.curves}
        for curve in half.curves:
            middle, low, high = (each[_TWICE] for each in curve.predicted)
            if curve.name == "all":
                rows[folder.name] = {
                    "half": f"{100 * curve.qualities[-1]:.1f}",
                    "predicted": f"{100 * middle:.1f} ({100 * low:.1f} to {100 * high:.1f})",
                    "measured": f"{100 * measured['all']:.1f}",
                }
            else:
                num_labels += 1
                num_inside += low <= measured.get(curve.name, 0.0) <= high
        say(format_rows(["half", "predicted", "measured"], rows, "corpus"))
        say(f"of {num_labels} labels, {num_inside} inside their intervals")


if __name__ == "__main__":
    main()
