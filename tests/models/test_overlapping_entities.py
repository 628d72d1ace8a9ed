"""A tagger with a chain for each label learns entities that overlap, and labels that few files know."""

import re

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

import tagger
import tagger_onnx
from tagger.integrations.onnx.commands.export import export
from tagger.tools.start.start import start
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.labelled_file import decoding_tuner, read_instances
from tests.conftest import CONFIGS

SENTENCES = [
    ["the O", "University B-ORG", "of I-ORG", "{} B-LOC|I-ORG", "won O"],
    ["she O", "left O", "{} B-LOC", "and O", "the O", "{} B-LOC|B-ORG", "Bank I-ORG"],
]


def corpus(*names):
    lines = ["\n".join(line.format(name) for line in each) for name in names for each in SENTENCES]
    return "\n\n".join(line.replace(" ", "\t") for line in lines) + "\n"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overlapping")
    (folder / "train.txt").write_text(corpus("York", "Oslo", "Rome", "Bonn"))
    (folder / "config.jsonnet").write_text(
        f"""(import '{CONFIGS / "toy_bilstm_crf.jsonnet"}') + {{
            label_chains:: true, num_epochs:: 25, batch_size:: 2,
            train_data_path: '{folder / "train.txt"}', validation_data_path: '{folder / "train.txt"}',
        }}"""
    )
    train_model(Params.from_file(folder / "config.jsonnet"), str(folder / "run"))
    return folder / "run" / "model.tar.gz"


def test_overlapping_entities_are_learnt_and_predicted_by_the_saved_tagger(archive):
    tagged = tagger.load(archive).tag("the University of Rome won")
    found = [(entity.label, entity.text) for entity in tagged.entities]
    assert found == [("ORG", "University of Rome"), ("LOC", "Rome")]
    assert tagged.tags == ["O", "B-ORG", "I-ORG", "U-LOC|L-ORG", "O"]
    assert all(0.5 < entity.probability < 1 for entity in tagged.entities)


def test_every_part_of_the_chains_gets_a_gradient(archive):
    model = tagger.load(archive).model.train()
    emissions = torch.randn(2, 4, len(model.tags), requires_grad=True)
    gold = torch.zeros(2, 4, len(model.tags), dtype=torch.long)
    model.head.sequence_loss(emissions, gold, torch.ones(2, 4).bool()).sum().backward()
    for name, weights in model.head.named_parameters():
        assert not weights.requires_grad or bool(weights.grad.any()), name


def test_marks_of_overlapping_entities_repeat_no_text(archive):
    page = tagger.load(archive).tag("the University of Rome won")._repr_html_()
    text = re.sub("<small.*?</small>|<[^>]*>", "", page)
    assert text.replace(" ", "") == "theUniversityofRomewon"
    assert "LOC, ORG" in page or "ORG, LOC" in page


def test_settings_by_label_change_one_chain(archive):
    model = tagger.load(archive)
    assert model.biases == {"LOC": 0.0, "ORG": 0.0}
    changed = model.with_thresholds(ORG=1.0).with_bias(LOC=0.5)
    found = [entity.label for entity in changed.tag("the University of Rome won").entities]
    assert found == ["LOC"]
    assert changed.biases["LOC"] == 0.5
    assert len(model.tag("the University of Rome won").entities) == 2


def test_tuning_finds_thresholds_of_each_chain(archive):
    model = tagger.load(archive).model
    reader = tagger.load(archive).predictor.dataset_reader
    data = str(archive.parent.parent / "train.txt")
    tuner = decoding_tuner(model, read_instances(reader, data))
    assert tuner.num_sentences == 8
    assert tuner.labels == ["LOC", "ORG"]
    right, predicted, gold = tuner.counts(Settings({}, {}))
    assert gold.tolist() == [12, 8]
    assert right.tolist() == predicted.tolist() == gold.tolist()
    strict = tuner.counts(Settings({}, {"ORG": 1.0}))
    assert strict[1].tolist() == [12, 0]


def test_a_config_for_overlapping_entities_says_what_one_chain_would_lose(archive, tmp_path):
    train = archive.parent.parent / "train.txt"
    found = start([train, train], tmp_path / "mine.jsonnet")
    assert "  label_chains:: true," in found.files[tmp_path / "mine.jsonnet"]
    chosen = next(line for line in found.said if "head" in line)
    assert "head label_chains, since entities overlap: one CRF would lose 8 of 20;" in chosen


def test_the_exported_tagger_agrees(archive, tmp_path):
    export(load_archive(archive), tmp_path / "tagger.onnx")
    exported, loaded = tagger_onnx.load(tmp_path / "tagger.onnx"), tagger.load(archive)
    asked = {"probabilities": True, "leak_labels": ["LOC"]}
    for text in ("the University of Rome won", "she left Oslo and the Oslo Bank", "x"):
        found, wanted = exported.tag(text, **asked), loaded.tag(text, **asked)
        assert found.tags == wanted.tags
        for one, other in zip(found.entities, wanted.entities, strict=True):
            assert one[:6] == other[:6]
            assert one.probability == pytest.approx(other.probability, abs=1e-5)
        assert found.leak_probability == pytest.approx(wanted.leak_probability, abs=1e-5)
        assert found.expected_missed == pytest.approx(wanted.expected_missed, abs=1e-5)
        for one, other in zip(found.probabilities, wanted.probabilities, strict=True):
            assert one == pytest.approx(other, abs=1e-5)
