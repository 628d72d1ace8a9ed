"""A tagger with a chain for each label learns entities that overlap, and labels that few files know."""

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params

import tagger
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
