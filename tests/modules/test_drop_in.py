"""Our CRF takes the place of AllenNLP's in models that are not ours: a small one, and `crf_tagger`."""

import json
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import allennlp.modules as allennlp_modules
import pytest
import torch
from allennlp.commands import main as allennlp_main
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import with_overrides
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model, load_archive
from allennlp.modules.seq2seq_encoders import LstmSeq2SeqEncoder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding
from allennlp.nn.util import get_text_field_mask

from tagger.data.dataset_readers import ColumnDatasetReader
from tagger.modules import ConditionalRandomField, TagWeighting
from tagger.spans import allowed_transitions
from tests.conftest import ROOT
from tests.test_readme import shown_commands

ALLENNLP_MODELS = find_spec("allennlp_models")
if ALLENNLP_MODELS:
    from allennlp_models.tagging.models.crf_tagger import CrfTagger

    from examples.weighted_crf_tagger import WeightedCrfTagger

needs_allennlp_models = pytest.mark.skipif(
    ALLENNLP_MODELS is None,
    reason="needs allennlp-models, which scripts/install.sh --dev puts beside the environment",
)

# Sums of some hundred float32 numbers, in another order.
TOLERANCE = {"rel": 1e-4, "abs": 1e-4}

TEST_FILE = "data/toy/test.txt"
CONFIG = {
    "dataset_reader": {"type": "column"},
    "train_data_path": "data/toy/train.txt",
    "validation_data_path": "data/toy/dev.txt",
    "model": {
        "type": "crf_tagger",
        "label_encoding": "BIO",
        "top_k": 3,
        "text_field_embedder": {
            "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 16}}
        },
        "encoder": {"type": "lstm", "input_size": 16, "hidden_size": 16, "bidirectional": True},
    },
    "data_loader": {"batch_size": 10, "shuffle": True},
    "trainer": {"optimizer": {"type": "adam", "lr": 0.02}, "num_epochs": 5},
}


class SmallTagger(Model):
    """What remains of `crf_tagger` without options and metrics."""

    def __init__(self, vocab, text_field_embedder, encoder, label_encoding, top_k):
        super().__init__(vocab)
        tags = vocab.get_index_to_token_vocabulary("labels")
        self.embedder = text_field_embedder
        self.encoder = encoder
        self.projection = torch.nn.Linear(encoder.get_output_dim(), len(tags))
        self.top_k = top_k
        self.crf_arguments = (len(tags), allowed_transitions(label_encoding, tags))
        self.crf = allennlp_modules.ConditionalRandomField(*self.crf_arguments)

    def forward(self, tokens, tags, metadata):
        mask = get_text_field_mask(tokens)
        logits = self.projection(self.encoder(self.embedder(tokens), mask))
        return {
            "loss": -self.crf(logits, tags, mask),
            "tags": [path for path, _ in self.crf.viterbi_tags(logits, mask)],
            "top_k_tags": self.crf.viterbi_tags(logits, mask, top_k=self.top_k),
        }


class SmallTaggerOnOurs(SmallTagger):
    def __init__(self, vocab, weighting=None, **kwargs):
        super().__init__(vocab, **kwargs)
        self.crf = ConditionalRandomField(*self.crf_arguments, weighting=weighting)


@pytest.fixture(params=["small_tagger", pytest.param("crf_tagger", marks=needs_allennlp_models)])
def classes(request):
    """A model on AllenNLP's CRF, and the same on ours."""
    if request.param == "small_tagger":
        return {"theirs": SmallTagger, "ours": SmallTaggerOnOurs}
    return {"theirs": CrfTagger, "ours": WeightedCrfTagger}


@pytest.fixture(scope="module")
def sentences():
    return list(ColumnDatasetReader().read(ROOT / "data/toy/train.txt"))


@pytest.fixture(scope="module")
def vocab(sentences):
    return Vocabulary.from_instances(sentences)


@pytest.fixture(scope="module")
def batches(sentences, vocab):
    batches = [Batch(sentences[start : start + 15]) for start in range(0, 60, 15)]
    for batch in batches:
        batch.index_instances(vocab)
    return [batch.as_tensor_dict() for batch in batches]


def build(model_class, vocab, **changes):
    embedding = Embedding(embedding_dim=8, num_embeddings=vocab.get_vocab_size("tokens"))
    arguments = {
        "text_field_embedder": BasicTextFieldEmbedder({"tokens": embedding}),
        "encoder": LstmSeq2SeqEncoder(input_size=8, hidden_size=6, bidirectional=True),
        "label_encoding": "BIO",
        "top_k": 3,
    }
    return model_class(vocab=vocab, **arguments, **changes)


def train(model, batches):
    """The losses of two epochs."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for batch in [*batches, *batches]:
        loss = model(**batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def answers(model, batch):
    """Loss and gradients; the best paths; scores and paths of the best few."""
    model.zero_grad()
    output = model(**batch)
    output["loss"].backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    scores = torch.tensor([[score for _, score in row] for row in output["top_k_tags"]])
    paths = [[path for path, _ in row] for row in output["top_k_tags"]]
    return (output["loss"].detach(), gradients, scores), (output["tags"], paths)


@pytest.mark.parametrize(("source", "target"), [("theirs", "ours"), ("ours", "theirs")])
def test_trained_weights_move_and_mean_the_same(source, target, classes, vocab, batches):
    trained, other = (build(classes[whose], vocab) for whose in (source, target))
    train(trained, batches[1:])
    other.load_state_dict(trained.state_dict())
    (numbers, paths), (expected, expected_paths) = (
        answers(model, batches[0]) for model in (other, trained)
    )
    torch.testing.assert_close(numbers, expected, rtol=TOLERANCE["rel"], atol=TOLERANCE["abs"])
    assert paths == expected_paths


def test_training_takes_the_same_course(classes, vocab, batches):
    theirs, ours = (build(classes[whose], vocab) for whose in ("theirs", "ours"))
    ours.load_state_dict(theirs.state_dict())
    losses = train(theirs, batches)
    assert losses[-1] < 0.9 * losses[0]
    assert train(ours, batches) == pytest.approx(losses, rel=1e-3)


def test_weighting_changes_the_course_and_the_loss_falls(classes, vocab, batches):
    weighting = TagWeighting.by_name("emission")(label_weights={"PER": 3.0}, vocab=vocab)
    plain, weighted = (
        build(classes["ours"], vocab, **changes) for changes in ({}, {"weighting": weighting})
    )
    weighted.load_state_dict({**weighted.state_dict(), **plain.state_dict()})
    losses, weighted_losses = train(plain, batches), train(weighted, batches)
    assert weighted_losses[0] != pytest.approx(losses[0], rel=1e-3)
    assert weighted_losses[-1] < 0.9 * weighted_losses[0]


@pytest.fixture(scope="module")
def train_by_config(tmp_path_factory):
    """Gives the folder of a training run of `CONFIG`, overridden."""

    def train_by_config(**overrides):
        folder = tmp_path_factory.mktemp("runs") / "run"
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.chdir(ROOT)
            train_model(Params(with_overrides(CONFIG, overrides)), str(folder))
        return folder

    return train_by_config


@pytest.fixture(scope="module")
def runs(train_by_config):
    """The folders of runs that differ in the type of the model."""
    names = ("crf_tagger", "weighted_crf_tagger")
    return {name: train_by_config(**{"model.type": name}) for name in names}


def metrics_of(run):
    metrics = json.loads((run / "metrics.json").read_text())
    return {name: metrics[name] for name in metrics if not re.search("duration|memory", name)}


@needs_allennlp_models
def test_a_config_trains_to_the_same_metrics_on_either_crf(runs):
    theirs, ours = map(metrics_of, runs.values())
    assert theirs["best_validation_f1-measure-overall"] > 0.1
    assert ours == pytest.approx(theirs, rel=1e-3)


@needs_allennlp_models
@pytest.mark.parametrize("own", ["crf_tagger", "weighted_crf_tagger"])
def test_an_archive_predicts_and_scores_the_same_on_either_crf(own, runs, at_root):
    predictions, scores = [], []
    for name in runs:
        overrides = {"model.type": name}
        archive = load_archive(runs[own], overrides=overrides)
        assert type(archive.model) is Model.by_name(name)
        reader = archive.validation_dataset_reader
        predictions.append(archive.model.forward_on_instances(list(reader.read(TEST_FILE))))
        scores.append(
            evaluate_from_archive(runs[own] / "model.tar.gz", TEST_FILE, cmd_overrides=overrides)
        )
    for prediction, expected in zip(*predictions):
        for name in ("words", "tags"):
            assert prediction[name] == expected[name]
        for path, expected_path in zip(prediction["top_k_tags"], expected["top_k_tags"]):
            assert path["tags"] == expected_path["tags"]
            assert path["score"] == pytest.approx(expected_path["score"], **TOLERANCE)
    assert scores[1] == pytest.approx(scores[0], **TOLERANCE)


@needs_allennlp_models
def test_an_archive_keeps_the_weighting_of_its_config(train_by_config, runs):
    weighting = {"type": "emission", "label_weights": {"PER": 3.0, "B-LOC": 0.5}}
    run = train_by_config(**{"model.type": "weighted_crf_tagger", "model.weighting": weighting})
    model = load_archive(run).model
    weights = model.crf.weighting.tag_weights.tolist()
    tags = model.vocab.get_index_to_token_vocabulary("labels")
    expected = {"B-PER": 3.0, "I-PER": 3.0, "B-LOC": 0.5}
    assert weights == [expected.get(tags[k], 1.0) for k in range(len(tags))]
    assert metrics_of(run) != pytest.approx(metrics_of(runs["weighted_crf_tagger"]), rel=1e-3)


@needs_allennlp_models
@pytest.mark.parametrize("strategy", [None, "emission_transition"])
def test_label_weights_of_allennlp_give_the_same_metrics_on_either_crf(train_by_config, strategy):
    weights = {"B-PER": 3.0, "I-PER": 3.0, "B-LOC": 0.5}
    settings = {"model.label_weights": weights, "model.weight_strategy": strategy}
    theirs, ours = (
        train_by_config(**{"model.type": name, **settings})
        for name in ("crf_tagger", "weighted_crf_tagger")
    )
    assert metrics_of(ours) == pytest.approx(metrics_of(theirs), rel=1e-3)
    for run, name in ((theirs, "weighted_crf_tagger"), (ours, "crf_tagger")):
        model = load_archive(run, overrides={"model.type": name}).model
        assert model.crf.label_weights.max() == 3.0
        assert name == "crf_tagger" or model.crf.weighting.tag_weights.max() == 3.0


@needs_allennlp_models
def test_label_weights_and_a_weighting_exclude_each_other(train_by_config):
    weighting = {"type": "chain", "label_weights": {"PER": 2}}
    settings = {"model.label_weights": {"B-PER": 2}, "model.weighting": weighting}
    with pytest.raises(ConfigurationError, match="`weighting` and `label_weights` exclude each"):
        train_by_config(**{"model.type": "weighted_crf_tagger", **settings})


@needs_allennlp_models
def test_the_documents_command_trains_a_crf_tagger_on_ours(tmp_path, monkeypatch):
    shown = (param.values[0] for param in shown_commands())
    (command,) = (each for each in shown if each.startswith("allennlp train crf_tagger.jsonnet"))
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "crf_tagger.jsonnet").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    allennlp_main()
    weights = load_archive("runs/weighted").model.crf.weighting.tag_weights
    assert 2.0 in weights.tolist()


@needs_allennlp_models
def test_a_loss_without_o_tags_is_that_of_the_other_tokens(vocab, batches):
    model = build(WeightedCrfTagger, vocab)
    output = model(**batches[0], ignore_loss_on_o_tags=True)
    tags, is_real = batches[0]["tags"], output["mask"]
    is_kept = is_real & (tags != vocab.get_token_index("O", "labels"))
    expected = 0.0
    for logits, row_tags, kept in zip(output["logits"], tags, is_kept):
        expected -= model.crf(logits[kept].unsqueeze(0), row_tags[kept].unsqueeze(0)).item()
    assert output["loss"].item() == pytest.approx(expected, **TOLERANCE)


@needs_allennlp_models
def test_allennlp_models_registers_no_name_of_ours():
    theirs = {
        name
        for path in Path(ALLENNLP_MODELS.origin).parent.rglob("*.py")
        for name in re.findall(r'^@(\w+)\.register\(\s*"([\w-]+)"', path.read_text(), re.MULTILINE)
    }
    ours = {
        (base.__name__, name)
        for base, names in Registrable._registry.items()
        for name, (registered, _) in names.items()
        if registered.__module__.startswith("tagger.")
    }
    assert ("Model", "crf_tagger") in theirs
    assert ("Model", "sequence_tagger") in ours
    assert not theirs & ours
