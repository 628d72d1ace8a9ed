"""The files of a fine-tuned transformer in an archive."""

import json
import shutil

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tagger.transformers.archived import fine_tuned_model, fine_tuned_tokenizer
from tests.transformers.small import save_bert, save_roberta


@pytest.fixture(params=[save_bert, save_roberta])
def name(request, tmp_path):
    return request.param(tmp_path / "tiny")


@pytest.fixture
def run_folder(name, tmp_path):
    """The folder of a training run that has begun."""
    folder = tmp_path / "run"
    fine_tuned_model(name, str(folder))
    return str(folder)


def weights(model):
    return torch.cat([each.flatten() for each in model.parameters()])


def test_a_run_keeps_the_config_and_the_tokenizer_alone(run_folder, name, tmp_path):
    kept = {path.name for path in (tmp_path / "run/fine_tuned/tiny").iterdir()}
    assert "config.json" in kept
    assert not any(path.endswith((".safetensors", ".bin")) for path in kept)
    before = fine_tuned_tokenizer(name, None)
    shutil.rmtree(name)
    after = fine_tuned_tokenizer(name, run_folder)
    assert before("the cat")["input_ids"] == after("the cat")["input_ids"]
    model = fine_tuned_model(name, run_folder)
    assert model.config.hidden_size == 8
    assert {each.dtype for each in model.parameters()} == {torch.float32}


def test_a_run_that_goes_on_starts_from_the_pretrained_weights(run_folder, name):
    model = fine_tuned_model(name, None)
    assert torch.equal(weights(fine_tuned_model(name, run_folder)), weights(model))


def test_an_archive_does_not_take_another_transformer_of_this_name(run_folder, name, tmp_path):
    path = tmp_path / "tiny/config.json"
    config = json.loads(path.read_text())
    other = {**config, "intermediate_size": 9}
    shutil.rmtree(name)
    save_bert(tmp_path / "tiny")
    path.write_text(json.dumps({**json.loads(path.read_text()), **other}))
    found = fine_tuned_model(name, run_folder).config
    assert found.intermediate_size == config["intermediate_size"]


def test_weights_in_half_precision_are_trained_in_single(name):
    model = fine_tuned_model(name, None)
    model.half().save_pretrained(name)
    assert {each.dtype for each in fine_tuned_model(name, None).parameters()} == {torch.float32}


@pytest.mark.parametrize("load", [fine_tuned_model, fine_tuned_tokenizer])
def test_a_missing_transformer_is_an_error(load, tmp_path):
    with pytest.raises(ConfigurationError, match="there is no such folder"):
        load(str(tmp_path / "nowhere"), None)
