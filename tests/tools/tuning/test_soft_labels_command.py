import json

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

import tagger
from tagger.data.soft_labels import SoftLabels
from tests.conftest import CONFIGS, ROOT

TRAIN = ROOT / "data/toy/train.txt"


@pytest.fixture
def soft_labels(allennlp, trained):
    return lambda *arguments: allennlp("soft-labels", trained / "model.tar.gz", *arguments)


@pytest.mark.slow
def test_a_student_learns_from_the_teacher_and_is_saved_without_it(
    soft_labels, trained, tmp_path, at_root, capsys
):
    soft_labels(TRAIN, "-o", tmp_path / "soft.npz")
    assert "Wrote" in capsys.readouterr().out
    # The student sees none of the gold tags, and two more sentences.
    text = tmp_path / "text.txt"
    text.write_text("Maria Lindqvist left Lisbon.\n\nPaulo Ferraz met her.\n")
    soft_labels(text, "-o", tmp_path / "more.npz", "--format", "text")
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    config["validation_dataset_reader"] = config["dataset_reader"]
    config["dataset_reader"] = {
        "type": "soft_labelled",
        "reader": config["validation_dataset_reader"],
        "soft_labels": str(tmp_path / "soft.npz"),
        "unlabelled": [str(tmp_path / "more.npz")],
    }
    config["model"]["head"]["distillation_weight"] = 1.0
    config["trainer"]["num_epochs"] = 12
    # The average of so few steps lags behind.
    del config["trainer"]["moving_average"]
    train_model(Params(json.loads(json.dumps(config))), str(tmp_path / "run"))
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["best_validation_f1-measure-overall"] > 0.8
    for name in ("soft.npz", "more.npz"):
        (tmp_path / name).unlink()
    archive = load_archive(tmp_path / "run/model.tar.gz")
    teacher = load_archive(trained / "model.tar.gz")
    shapes = [
        {
            name: each.shape
            for name, each in model.state_dict().items()
            if "token_embedder" not in name
        }
        for model in (archive.model, teacher.model)
    ]
    assert shapes[0] == shapes[1]
    tagged = tagger.load(tmp_path / "run/model.tar.gz").tag("Maria Lindqvist left Lisbon.")
    assert [entity.label for entity in tagged.entities] == ["PER", "LOC"]


def test_tags_of_the_text_do_not_matter(soft_labels, tmp_path):
    for name, tag in (("tags", " B-NEW"), ("none", "")):
        (tmp_path / name).write_text(f"Ada{tag}\nleft{tag and ' O'}\n")
        soft_labels(tmp_path / name, "-o", tmp_path / f"{name}.npz")
    found, other = (SoftLabels.load(tmp_path / f"{name}.npz") for name in ("tags", "none"))
    assert found.sentences == other.sentences == [("Ada", "left")]
    assert (found.find(("Ada", "left")).tags == other.find(("Ada", "left")).tags).all()


def test_mistakes_end_in_one_line(soft_labels, tmp_path):
    output, texts = tmp_path / "soft.npz", tmp_path / "texts.txt"
    texts.write_text("Ada left\nShe came back\n")
    for file, options, message in (
        (tmp_path / "nothing.txt", [], ".*nothing.txt"),
        (texts, [], ".*texts.txt:1: expected 3 columns.*; if each line is a text, add `--format"),
        (TRAIN, ["--temperature", "-1"], "`temperature` must be a positive number"),
        (TRAIN, [], "`--output` .* already exists"),
    ):
        if "exists" in message:
            output.write_text("mine")
        with pytest.raises(SystemExit, match=f"^soft-labels: {message}"):
            soft_labels(file, "-o", output, *options)
    assert output.read_text() == "mine"
