"""Fine-tuned transformers, from the config to the archive."""

import json
import shutil

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive
from allennlp.training.optimizers import Optimizer

import tagger
from tests.conftest import ROOT
from tests.models.batches import model_and_batch
from tests.transformers.small import save_bert

TOY = ROOT / "data/toy"


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """Evaluates a config of the template with additional settings and a local transformer."""
    folder = tmp_path_factory.mktemp("fine_tuned")

    def evaluate(**settings):
        transformer = save_bert(folder / "transformer")
        settings = {
            "transformer": transformer,
            "source_encoding": "BIO",
            "max_pieces": 60,
            "pieces_per_batch": 400,
            "num_epochs": 1,
            **settings,
        }
        hidden = ", ".join(f"{name}:: {json.dumps(value)}" for name, value in settings.items())
        data = f"train_data_path: '{TOY}/train.txt', validation_data_path: '{TOY}/dev.txt'"
        path = folder / "config.jsonnet"
        path.write_text(
            f"(import 'tagger/training/transformer.libsonnet') + {{ {hidden}, {data} }}"
        )
        return Params.from_file(path)

    evaluate.folder = folder
    return evaluate


@pytest.fixture(scope="module")
def run(config):
    """The folder of a run with class weights. Its pretrained transformer has been deleted."""
    weighting = {"type": "chain", "label_weights": {"PER": 2.0}}
    folder = config.folder / "run"
    model = train_model(config(weighting=weighting), str(folder), force=True)
    shutil.rmtree(config.folder / "transformer")
    return folder, model.eval()


def trained_names(model, batch):
    model.train()(**batch)["loss"].backward()
    return {name for name, each in model.named_parameters() if each.grad is not None}


def test_every_trained_parameter_gets_a_gradient(config):
    model, batch = model_and_batch(config())
    names = trained_names(model, batch)
    wanted = {name for name, each in model.named_parameters() if each.requires_grad}
    assert names == wanted
    rest = {name for name, _ in model.named_parameters()} - wanted
    assert rest == {name for name in rest if ".pooler." in name or "_constraint_mask" in name}
    model, batch = model_and_batch(config(num_frozen_layers=2))
    names = trained_names(model, batch)
    in_transformer = {name for name in names if ".transformer_model." in name}
    assert in_transformer == {name for name in wanted if ".layer.2." in name}
    assert names - in_transformer == {name for name in wanted if ".transformer_model." not in name}


def test_learning_rates_follow_the_settings(config):
    params = config(learning_rate=0.5, transformer_learning_rate=0.1, layer_decay=0.5)
    model, _ = model_and_batch(params)
    optimizer = Optimizer.from_params(
        params["trainer"]["optimizer"],
        model_parameters=[(n, p) for n, p in model.named_parameters() if p.requires_grad],
    )
    rates = sorted({group["lr"] for group in optimizer.param_groups}, reverse=True)
    assert rates == pytest.approx([0.5, 0.1, 0.05, 0.025, 0.0125])


def test_an_archive_needs_no_other_files(run):
    folder, model = run
    weights = model.head.crf.weighting.tag_weights
    assert {*weights.tolist()} == {1.0, 2.0}
    archive = load_archive(folder / "model.tar.gz")
    for name, value in model.state_dict().items():
        torch.testing.assert_close(archive.model.state_dict()[name], value)
    saved = tagger.SavedTagger.of(archive, "saved")
    sentences = [["Anna", "Keller", "of", "Basel"], ["a"] * 300]
    tagged = saved.tag(sentences, probabilities=True)
    for sentence, text in zip(sentences, tagged):
        assert len(text.tags) == len(sentence)
        for of_token in text.probabilities:
            assert sum(of_token.values()) == pytest.approx(1, abs=1e-4)


def test_decoding_is_tuned_and_a_report_written(run, allennlp, tmp_path, capsys):
    archive = run[0] / "model.tar.gz"
    tuned = tmp_path / "tuned.tar.gz"
    allennlp("tune-decoding", archive, TOY / "dev.txt", "-o", tuned, "--f-beta", "PER=2")
    assert "PER" in capsys.readouterr().out
    assert len(tagger.load(tuned).tag(tokens=["Anna"]).tags) == 1
    allennlp("report", run[0], "-o", tmp_path / "report.html")
    assert "PER" in (tmp_path / "report.html").read_text()
