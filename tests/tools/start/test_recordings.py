"""`start` recognises recordings, and its config trains on them."""

import pytest
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.data import DatasetReader

from tagger.tools.start.recordings import find_recordings
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


def test_a_single_recording_is_cut_in_time(allennlp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{number % 7}.5,{'walk' if number % 20 < 10 else 'sit'}" for number in range(500)]
    (tmp_path / "one.csv").write_text("\n".join(["x,activity", *rows]))
    allennlp("start", "one.csv", "-o", "one.jsonnet", "--tag-column", "activity")
    assert (tmp_path / "one.dev.csv").read_text().split()[1:] == rows[400:]
    params = Params.from_file("one.jsonnet")
    assert params["dataset_reader"]["window"] == 200
    assert params["dataset_reader"]["sequence_column"] is None
