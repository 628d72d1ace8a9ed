"""Our CRF as a drop-in replacement in AllenNLP's own `crf_tagger`."""

import json
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from allennlp.commands import main as allennlp_main
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import with_overrides
from allennlp.models import Model, load_archive

from tests.conftest import ROOT
from tests.models.batches import tensors
from tests.pages import shown_commands

ALLENNLP_MODELS = find_spec("allennlp_models")
if ALLENNLP_MODELS is None:
    reason = "needs allennlp-models, which scripts/install.sh --dev puts beside the environment"
    pytest.skip(reason, allow_module_level=True)

import examples.weighted_crf_tagger  # noqa: E402, F401  (registers it)

# Some hundred float32 numbers are summed in another order.
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


@pytest.fixture(scope="module")
def train_by_config(tmp_path_factory):
    """Returns the folder of a training run of `CONFIG` with overrides."""

    def train_by_config(**overrides):
        folder = tmp_path_factory.mktemp("runs") / "run"
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.chdir(ROOT)
            train_model(Params(with_overrides(CONFIG, overrides)), str(folder))
        return folder

    return train_by_config


@pytest.fixture(scope="module")
def runs(train_by_config):
    """The folders of runs that differ only in the type of the model."""
    names = ("crf_tagger", "weighted_crf_tagger")
    return {name: train_by_config(**{"model.type": name}) for name in names}


def metrics_of(run):
    metrics = json.loads((run / "metrics.json").read_text())
    return {name: metrics[name] for name in metrics if not re.search("duration|memory", name)}


def test_a_config_trains_to_the_same_metrics_with_either_crf(runs):
    theirs, ours = map(metrics_of, runs.values())
    assert theirs["best_validation_f1-measure-overall"] > 0.1
    assert ours == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("own", ["crf_tagger", "weighted_crf_tagger"])
def test_an_archive_predicts_and_scores_the_same_with_either_crf(own, runs, at_root):
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


def test_an_archive_keeps_the_weighting_of_its_config(train_by_config, runs):
    weighting = {"type": "emission", "label_weights": {"PER": 3.0, "B-LOC": 0.5}}
    run = train_by_config(**{"model.type": "weighted_crf_tagger", "model.weighting": weighting})
    model = load_archive(run).model
    weights = model.crf.weighting.tag_weights.tolist()
    tags = model.vocab.get_index_to_token_vocabulary("labels")
    expected = {"B-PER": 3.0, "I-PER": 3.0, "B-LOC": 0.5}
    assert weights == [expected.get(tags[k], 1.0) for k in range(len(tags))]
    assert metrics_of(run) != pytest.approx(metrics_of(runs["weighted_crf_tagger"]), rel=1e-3)


@pytest.mark.parametrize("strategy", [None, "emission_transition"])
def test_allennlps_label_weights_give_the_same_metrics_with_either_crf(train_by_config, strategy):
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


def test_label_weights_and_a_weighting_exclude_each_other(train_by_config):
    weighting = {"type": "chain", "label_weights": {"PER": 2}}
    settings = {"model.label_weights": {"B-PER": 2}, "model.weighting": weighting}
    with pytest.raises(ConfigurationError, match="`weighting` and `label_weights` exclude each"):
        train_by_config(**{"model.type": "weighted_crf_tagger", **settings})


def test_the_command_in_the_docs_trains_a_crf_tagger_with_our_crf(tmp_path, monkeypatch):
    shown = shown_commands()
    (command,) = (each for each in shown if each.startswith("allennlp train crf_tagger.jsonnet"))
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "crf_tagger.jsonnet").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    allennlp_main()
    weights = load_archive("runs/weighted").model.crf.weighting.tag_weights
    assert 2.0 in weights.tolist()


def test_a_loss_without_o_tags_counts_only_the_other_tokens(runs, at_root):
    archive = load_archive(runs["weighted_crf_tagger"])
    model, instances = archive.model, list(archive.dataset_reader.read(TEST_FILE))
    batch = tensors(model, instances)
    output = model(**batch, ignore_loss_on_o_tags=True)
    is_kept = output["mask"] & (batch["tags"] != model.vocab.get_token_index("O", "labels"))
    expected = 0.0
    for logits, tags, kept in zip(output["logits"], batch["tags"], is_kept):
        expected -= model.crf(logits[kept].unsqueeze(0), tags[kept].unsqueeze(0)).item()
    assert output["loss"].item() == pytest.approx(expected, **TOLERANCE)


def test_allennlp_models_registers_none_of_our_names():
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
