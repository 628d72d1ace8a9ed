"""`start` recognises recordings, and its config trains on them."""

from random import Random

import pytest
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.data import DatasetReader

from tagger.data.survey.column_survey import survey_columns
from tagger.tools.start.recordings import find_recordings, start_with_recordings
from tests.recordings import LABELS, write_recordings


@pytest.mark.parametrize("several_labels", [False, True])
def test_the_config_fits_the_file(several_labels, allennlp, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_recordings(tmp_path / "all.csv", range(10), several_labels)
    allennlp("start", "all.csv", "-o", "mine.jsonnet")
    said = capsys.readouterr().out
    assert "numbers    x, y\n" in said
    assert "recordings 10, of" in said
    assert "predict-file runs/mine/model.tar.gz mine.dev.csv" in said
    params = Params.from_file("mine.jsonnet")
    reader = DatasetReader.from_params(params.duplicate()["dataset_reader"])
    parts = [list(reader.read(params[f"{part}_data_path"])) for part in ("train", "validation")]
    assert [len(part) for part in parts] == [8, 2]
    names = [each["metadata"].metadata["recording"] for part in parts for each in part]
    assert sorted(names) == [f"r{number}" for number in range(10)]
    model = TrainModel.from_params(params, serialization_dir="run", local_rank=0).model
    assert sorted(model.tags) == sorted(LABELS)
    assert model.text_field_embedder.get_output_dim() == 2
    assert ("Sigmoid" in type(model.head).__name__) == several_labels
    # A tenth of segments of 6 to 11 steps.
    assert model.segment_metrics._tolerance == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "t,x,y,sit\n" + "2026-01-01,1,5,1\n2026-01-02,3,2,0\n2026-01-03,2,7,0\n",
            ("", ["x", "y"], ["sit"], False),
        ),
        ("x,n,kind\n0.5,1,4\n0.1,2,-1\n0.3,3,5\n", ("", ["x"], ["kind"], True)),
        ("id,token,tag\n1,Ada,B-PER\n1,left,O\n2,Bob,B-PER\n2,is,O\n", None),
        (
            "File,Line,Begin Offset,End Offset,Type\n" + "a.txt,0,0,3,PER\na.txt,1,5,8,PER\n" * 9,
            None,
        ),
        ("x,y,text,k\n" + "".join(f'{n},5,"Ann, {n}, left Rome.",A\n' for n in "8174"), None),
        ("word;tag\nAda;B-PER\nleft;O\n", None),
        ("Wort,s,t\n" + "राम,0.2,B-PER\nशर्मा,0.4,I-PER\nगया,0.3,O\n" * 9, None),
        ("0.5,walk\n0.1,sit\n", None),
        ("a,b\n1\n", None),
        ("", None),
    ],
)
def test_recordings_are_told_from_words(text, found, tmp_path):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    recordings = find_recordings(tmp_path / "a.csv")
    assert (recordings and (recordings.sequence or "", *recordings[3:])) == found


#: How a column spells two labels or more, how a time grows, and how the columns are called.
LABELLED = {
    "words": ["walk", "sit", "walk up"],
    "numbers": ["3", "1", "12"],
    "0 and 1": ["0", "1"],
    "fractions": ["0.0", "1.0"],
    "normal and not": ["1", "-1"],
    "unknown": ["0", "4", "-1"],
}
TIMES = {
    "timestamp": lambda n: f"{1461148512 + n // 3}.5",
    "Timestamp (ms)": lambda n: str(1557877151206 + 13 * n),
    "time": lambda n: f"0{n // 60}:{n % 60:02}.5",
    "date": lambda n: f"2026-05-14 11:17:{n // 6:02}",
    "": str,
}
NAMES = ("label", "Class", "activity", "true_label", "anomaly", "behaviour_id")


@pytest.mark.parametrize("seed", range(40))
def test_columns_are_found_wherever_they_are(seed, tmp_path):
    random = Random(seed)
    kind, time, name = map(random.choice, ([*LABELLED], [*TIMES], NAMES))
    labels, num = LABELLED[kind], 90
    columns = {
        name: [labels[n // 10 % len(labels)] for n in range(num)],
        time: [*map(TIMES[time], range(num))],
        "x [mg]": [f"{random.gauss(0, 9):.3f}" for _ in range(num)],
        "y": [str(random.randint(280, 320)) for _ in range(num)],
    }
    order = random.sample([*columns], len(columns))
    has_names = random.random() < 0.5
    if has_names:
        columns["unit"] = [str(n // 30 + 1) for n in range(num)]
        order = ["unit", *order]
    delimiter = random.choice([",", ", ", ";", "\t"])
    rows = [order, *zip(*(columns[each] for each in order))]
    path = tmp_path / random.choice(["a.csv", "a.tsv", "a.txt"])
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows))
    found = find_recordings(path)
    assert (found.sequence, found.labels) == ("unit" if has_names else None, [name])
    assert sorted(found.numbers) == ["x [mg]", "y"]
    assert found.has_tags == (kind not in ("0 and 1", "fractions"))
    assert (
        "unknown_tag"
        in start_with_recordings([path], tmp_path / "a.jsonnet", found, 0).files[
            tmp_path / "a.jsonnet"
        ]
        or kind != "unknown"
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": "0.{}5", "y": "2{}.1"}, "column of labels, but the last column, 'y', has 10"),
        ({"x": "0.{}5", "beats": "30{}"}, "column of labels, but the last column, 'beats', has 10"),
        ({"x": "0.{}5", "label": "walk"}, "several labels in column 'label', got walk alone"),
        ({"x": "0.{}5", "y": '"1,{}"', "label": "{}"}, "decimal points, got '1,.' in column 'y'"),
        ({"class": "{}", "x": "0.{}5", "fault": "f{}"}, "but class, fault are named like them"),
    ],
)
def test_unclear_recordings_are_refused(columns, message, tmp_path):
    random = Random(1)
    rows = [[each.format(random.randint(0, 9)) for each in columns.values()] for _ in range(90)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(map(",".join, [[*columns], *rows])))
    with pytest.raises(ValueError, match=message):
        find_recordings(path)


@pytest.mark.parametrize("command", ["convert", "split"])
def test_recordings_are_no_words_for_other_commands(command, allennlp, tmp_path):
    rows = [f"{n % 7}.5,{n // 30},walk in,{'up' * (n // 9 % 2)}down" for n in range(90)]
    (tmp_path / "a.csv").write_text("\n".join(["x,part,place,direction", *rows]))
    with pytest.raises(
        SystemExit, match="expected words, got recordings, which only `allennlp start`"
    ):
        allennlp(command, tmp_path / "a.csv", tmp_path / "b.txt")
    assert not (tmp_path / "b.txt").exists()


def test_names_of_rows_are_no_numbers(tmp_path):
    rows = [f'"{n}",{n % 7}.5,{n // 9 % 2}' for n in range(90)]  # as R writes them
    (tmp_path / "a.txt").write_text("\n".join(['"x","label"', *rows]))
    assert find_recordings(tmp_path / "a.txt")[2:] == (None, ["x"], ["label"], False)


@pytest.mark.parametrize(
    "opening", ["", "@relation steps\n@attribute x real\n", "% a\n@problemName steps\n"]
)
def test_other_tables_of_numbers_are_named(opening, tmp_path):
    rows = "".join(f"{n % 7}.5,-{n}.25e-1,{n // 9 % 2}\n" for n in range(90))
    (tmp_path / "a.csv").write_text(opening + rows)
    with pytest.raises(ValueError, match="write recordings as CSV with a row for each time step"):
        survey_columns(tmp_path / "a.csv")


def test_a_single_recording_is_cut_in_time(allennlp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{number % 7}.5,{'walk' if number % 20 < 10 else 'sit'}" for number in range(500)]
    (tmp_path / "one.csv").write_text("\n".join(["x,activity", *rows]))
    allennlp("start", "one.csv", "-o", "one.jsonnet", "--tag-column", "activity")
    assert (tmp_path / "one.dev.csv").read_text().split()[1:] == rows[400:]
    params = Params.from_file("one.jsonnet")
    assert params["dataset_reader"]["window"] == 200
    assert params["dataset_reader"]["sequence_column"] is None
