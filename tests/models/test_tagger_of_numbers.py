"""A tagger of numbers is trained, saved and used like one of words."""

import json

import numpy as np
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

import tagger
import tagger_onnx
from tagger.integrations.onnx.commands.export import export
from tagger.modules.token_embedders.numbers import NumbersEmbedder
from tagger.predictors.text_evaluation import evaluate_file
from tests.recordings import LABELS, config, recording, write_recordings
from tests.routes import ONNX_TOLERANCE

HEADS = {
    "crf": {"type": "crf", "weighting": {"type": "chain", "label_weights": {"walk": 2}}},
    "softmax": {"type": "softmax"},
    "sigmoid": {"type": "sigmoid"},
}


@pytest.fixture(scope="module", params=HEADS)
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    several = request.param == "sigmoid"
    params = config(folder, HEADS[request.param], several, window=20, overlap=8)
    if several:
        params["trainer"]["callbacks"] = ["tune_thresholds"]
    train_model(Params(params), str(folder / "run"))
    write_recordings(folder / "test.csv", range(12, 15), several)
    return folder / "run"


def test_it_learns_and_every_step_counts_once(run, allennlp, tmp_path):
    test = run.parent / "test.csv"
    allennlp("evaluate", run / "model.tar.gz", test, "--output-file", tmp_path / "m.json")
    metrics = json.loads((tmp_path / "m.json").read_text())
    rows = [line.split(",") for line in test.read_text().splitlines()[1:]]
    num_known = sum(row[3] not in ("", "-1") for row in rows)
    several = "hamming-loss" in metrics
    level = "" if several else "token-"
    assert metrics[f"{level}num-gold-overall"] == num_known
    assert metrics[f"{level}f1-measure-overall"] > 0.9
    assert metrics["segment-f1-measure-overall"] > 0.8
    assert metrics["segment-num-gold-overall"] == 3 * 8


def test_all_routes_predict_the_same(run, allennlp, tmp_path):
    numbers, labels = recording(12)
    saved = tagger.load(run)
    tagged = saved.tag(numbers, probabilities=True)
    assert len(tagged.probabilities) == len(numbers)
    assert (tagged.text, tagged.tokens, tagged.entities) == ("", [], [])
    names = [each[0] if each else "" for each in tagged.labels] or tagged.tags
    assert np.mean([one == other for one, other in zip(names, labels, strict=True)]) > 0.9

    short, none = saved.tag([torch.from_numpy(numbers[:5]), numbers[:0]])
    assert len(short.tags or short.labels) == 5
    assert none.tags == none.labels == []

    export(load_archive(run), tmp_path / "t.onnx")
    exported = tagger_onnx.load(tmp_path / "t.onnx")
    missing = numbers.copy()
    missing[::7, 1] = np.nan
    for given in (numbers, missing):
        one, other = (each.tag(given, probabilities=True) for each in (saved, exported))
        assert (one.tags, one.labels) == (other.tags, other.labels)
        for at_step, at_other in zip(one.probabilities, other.probabilities, strict=True):
            assert at_step == pytest.approx(at_other, abs=ONNX_TOLERANCE)
    assert exported.tag([numbers[:0]])[0].tags == []

    # Labels are ignored, so a file needs none.
    lines = [f"r,{x},{y},on" for x, y in numbers]
    table = tmp_path / ("new.csv" if tagged.tags else "new.txt")
    table.write_text("\n".join(["id,x,y,text", *lines]))
    allennlp("predict-file", run, table, "-o", tmp_path / "windows.jsonl")
    (tmp_path / "new.jsonl").write_text(json.dumps({"numbers": numbers.tolist()}))
    allennlp("predict-file", run, tmp_path / "new.jsonl", "-o", tmp_path / "whole.jsonl")
    of_windows, of_whole = (
        [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        for name in ("windows", "whole")
    )
    name = "tags" if tagged.tags else "labels"
    assert of_windows[1]["recording"] == "r"
    assert of_windows[1]["first_step"] == len(of_windows[0][name])
    for found in ([label for each in of_windows for label in each[name]], of_whole[0][name]):
        assert found == getattr(tagged, name)


def test_standardisation_is_that_of_the_training_data_and_saved(run):
    rows = [line.split(",") for line in (run.parent / "train.csv").read_text().splitlines()[1:]]
    columns = [[float(row[at]) for row in rows if row[at]] for at in (1, 2)]
    (embedder,) = (each for each in load_archive(run).model.modules() if hasattr(each, "scales"))
    # Steps in the overlap of windows count twice.
    assert embedder.means.tolist() == pytest.approx([np.mean(each) for each in columns], abs=0.3)
    assert embedder.scales.tolist() == pytest.approx([np.std(each) for each in columns], rel=0.1)
    embedded = embedder(torch.full((1, 1, 2), torch.nan), torch.ones(1, 1, dtype=torch.bool))
    assert embedded.tolist() == [[[0, 0]]]


def test_texts_and_what_needs_characters_are_refused(run, good, allennlp, tmp_path):
    saved = tagger.load(run)
    for call in (lambda: saved.split("Ada left"), lambda: saved.tag_document("Ada left.")):
        with pytest.raises(
            ValueError, match="reads numbers, not text, and has no character offsets"
        ):
            call()
    for wrong in ("Ada left", [[1, 2]], np.zeros((2, 3)), [["Ada"]], np.full((1, 2), np.inf)):
        with pytest.raises(
            ValueError, match="must be a recording: for each step, a list of 2 finite"
        ):
            saved.tag(wrong)
    with pytest.raises(ConfigurationError, match="`leak_labels` needs texts"):
        saved.tag(np.zeros((2, 2)), leak_labels=["walk"])
    output = tmp_path / "o.jsonl"
    for options, message in (
        (["predict-file", run, run.parent / "test.csv", "--format", "doccano"], "are for texts"),
        (["soft-labels", run, run.parent / "test.csv"], "soft labels are found by words"),
    ):
        with pytest.raises(SystemExit, match=message):
            allennlp(*options, "-o", output)
    (tmp_path / "n.jsonl").write_text('{"numbers": [[1, 2]]}')
    with pytest.raises(SystemExit, match="this tagger reads text; give text or tokens"):
        allennlp("predict-file", good, tmp_path / "n.jsonl", "-o", output)


def test_unknown_steps_add_nothing_to_the_loss(run):
    archive = load_archive(run)
    numbers, labels = recording(3)
    for known, is_zero in ([], True), ([[label] for label in labels[:9]], False):
        own = [*known, *[["?"]] * (20 - len(known))]
        instances = archive.dataset_reader.recording_to_instances(numbers[:20], own)
        (output,) = archive.model.forward_on_instances(instances)
        assert (abs(output["loss"]) < 1e-5) == is_zero
    with pytest.raises(ValueError, match="a label list for each of 20 steps; got 3"):
        archive.dataset_reader.recording_to_instances(numbers[:20], [["sit"]] * 3)


def test_entities_have_steps_and_no_characters(tmp_path):
    params = config(tmp_path, {"type": "crf"}, window=20, overlap=8)
    for name in ("train", "dev"):
        before, lines = "", []
        for line in (tmp_path / f"{name}.csv").read_text().splitlines():
            row, label = line.rsplit(",", 1)
            prefix = "I-" if label == before else "B-"
            lines.append(f"{row},{prefix * (label in LABELS)}{label}")
            before = label
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    train_model(Params(params), str(tmp_path / "run"))
    numbers, _ = recording(12)
    saved = tagger.load(tmp_path / "run")
    found = saved.tag(numbers)
    starts = [at for at, tag in enumerate(found.tags) if tag.startswith("B-")]
    assert [entity.first for entity in found.entities] == starts
    assert len(starts) > 4
    for entity in found.entities:
        assert (entity.text, entity.start, entity.end) == ("", None, None)
        assert found.tags[entity.first] == f"B-{entity.label}"
        assert 0 < entity.probability <= 1
    assert f"{found.entities[0].label} 0–" in found._repr_html_()
    export(load_archive(tmp_path / "run"), tmp_path / "t.onnx")
    exported = tagger_onnx.load(tmp_path / "t.onnx")
    for one, other in zip(exported.tag(numbers).entities, found.entities, strict=True):
        assert one[:6] == other[:6]
        assert one.probability == pytest.approx(other.probability, abs=ONNX_TOLERANCE)
    with pytest.raises(ValueError, match="`leak_labels` needs texts"):
        exported.tag(numbers, leak_labels=["run"])
    reader = saved.predictor.dataset_reader
    with pytest.raises(ConfigurationError, match="from text needs the dataset reader `column`"):
        evaluate_file(saved, reader, str(tmp_path / "dev.csv"))


def test_a_wrong_size_is_named(tmp_path):
    params = config(tmp_path, {"type": "crf"})
    params["model"]["text_field_embedder"]["token_embedders"]["numbers"]["size"] = 3
    with pytest.raises(ConfigurationError, match="has `size` 3, but .* have 2 numbers a step"):
        train_model(Params(params), str(tmp_path / "run"))
    with pytest.raises(RuntimeError, match="means of the training data are unknown"):
        NumbersEmbedder(2)(torch.zeros(1, 1, 2), torch.ones(1, 1, dtype=torch.bool))
    assert len(LABELS) == 3
