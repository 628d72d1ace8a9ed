"""Sequences of numbers from CSV and Parquet."""

import gzip
import itertools

import numpy as np
import pyarrow.parquet
import pytest
from allennlp.common.checks import ConfigurationError

from tagger.common.training_counts import count_labels
from tagger.data import NumericSequencesDatasetReader
from tagger_texts.recordings import windows

CSV = "id,x,y,activity\na,1,2,walk\na,,3.5,\nb,4,5,sit\n"


def read(path, *arguments, **keywords):
    reader = NumericSequencesDatasetReader(*arguments, sequence_column="id", **keywords)
    return list(reader.read(path))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_becomes_recordings(tmp_path, delimiter):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(f"\ufeff{CSV}".replace(",", delimiter).encode()))
    first, second = read(path, ["x", "y"], "activity")
    np.testing.assert_array_equal(first["tokens"].numbers, [[1, 2], [np.nan, 3.5]])
    assert first["tags"].labels == ["walk", "?"]
    assert [each["metadata"].metadata["recording"] for each in (first, second)] == ["a", "b"]
    assert count_labels([first, second])["labels"] == {"walk": 1, "sit": 1}


def test_parquet_is_read_as_csv(tmp_path):
    table = pyarrow.table(
        {
            "id": ["a", "a", "b"],
            "x": [1, None, 4],
            "y": [2, 3.5, 5],
            "activity": ["walk", None, "sit"],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text(CSV)
    of_csv, of_parquet = (
        read(tmp_path / f"a.{suffix}", ["x", "y"], "activity") for suffix in ("csv", "parquet")
    )
    for one, other in zip(of_csv, of_parquet, strict=True):
        np.testing.assert_array_equal(one["tokens"].numbers, other["tokens"].numbers)
        assert one["tags"].labels == other["tags"].labels


def test_label_columns_hold_1_0_and_unknown(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,up,fast\na,0,1,0\na,0,-1,1\na,0,,-1\na,0,0,0\n")
    (instance,) = read(path, ["x"], ["up", "fast"])
    assert instance["tags"].label_sets == [["up"], ["?up", "fast"], ["?"], []]
    (unlabelled,) = NumericSequencesDatasetReader(["x"]).read(path)
    assert "tags" not in unlabelled.fields


def test_each_step_has_its_label_in_one_window(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,y\n" + "".join(f"a,{step},t{step}\n" for step in range(50)))
    instances = read(path, ["x"], "y", window=16, overlap=6)
    assert len(instances) == 5
    assert [tag for each in instances for tag in each["tags"].known_tags()] == [
        f"t{step}" for step in range(50)
    ]
    for each in instances:
        steps = each["tokens"].numbers[:, 0].astype(int)
        assert each["metadata"].metadata["words"] == list(map(str, steps))
        assert len(steps) <= 16


@pytest.mark.parametrize("num_steps", [*range(40), 997])
@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (7, 0), (7, 3), (8, 7)])
def test_windows_own_every_step_once_and_overlap(num_steps, size, overlap):
    found = windows(num_steps, size, overlap)
    owned = [step for each in found for step in range(each.own_first, each.own_end)]
    assert owned == list(range(num_steps))
    assert all(each.first <= each.own_first < each.own_end <= each.end for each in found)
    assert all(each.end - each.first == min(size, num_steps) for each in found)
    assert all(one.end - other.first >= overlap for one, other in itertools.pairwise(found))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,x,y\na,1\n", "a.csv:2: expected 3 cells as on the first line, got 2: a,1"),
        ("id,x,y\na,one,b\n", "a.csv:2: expected a number in column `x`, .*; got 'one'"),
        ("id,x,y\na,inf,b\n", "a.csv:2: expected a number in column `x`, .*; got 'inf'"),
        ("id,x,y\na,1,b\nb,1,b\na,1,b\n", "a.csv:4: recording 'a' has ended before; sort .* `id`"),
    ],
)
def test_a_bad_row_is_named(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a.csv", ["x"], "y")


def test_a_wrong_column_or_argument_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,walk\na,1,2\n")
    with pytest.raises(ConfigurationError, match=r"no column `wolk` .*; did you mean `walk`\?"):
        read(tmp_path / "a.csv", ["x"], "wolk")
    with pytest.raises(
        ValueError, match="a.csv:2: expected 1, 0, or -1 .* `walk`, got 2; if it holds"
    ):
        read(tmp_path / "a.csv", ["x"], ["walk"])
    with pytest.raises(ConfigurationError, match="`overlap` must be at least 0 and below `window`"):
        NumericSequencesDatasetReader(["x"], window=10, overlap=10)
    with pytest.raises(ConfigurationError, match="reads numbers, not text"):
        NumericSequencesDatasetReader(["x"]).text_to_instance(["Ada"])


def test_a_whole_recording_has_the_labels_of_the_rows_that_give_some(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,up,fast\na,0,1,-1\na,1,,\nb,0,,-1\nb,1,,\nc,2,0,0\n")
    instances = read(path, ["x"], ["up", "fast"], whole_recordings=True, window=1, overlap=0)
    of_recordings = [(each["labels"].labels, each["labels"].unknown) for each in instances]
    assert of_recordings == [(["up"], {"fast"}), ([], set()), ([], set())]
    assert [each["labels"].absent for each in instances] == [None, set(), None]
    assert [len(each["tokens"]) for each in instances] == [2, 2, 1]
    assert count_labels(instances).num_items["labels"] == 2
    path.write_text(CSV)
    one, other = read(path, ["x", "y"], "activity", whole_recordings=True)
    assert (one["labels"].labels, other["labels"].labels) == (["walk"], ["sit"])
    path.write_text(CSV.replace("3.5,", "3.5,sit"))
    with pytest.raises(ValueError, match=r"recording 'a': expected the same labels .* \['sit'\]"):
        read(path, ["x", "y"], "activity", whole_recordings=True)
