import copy
import logging
from pathlib import Path

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

import tagger  # noqa: F401  (registers the components)

ROOT = Path(__file__).parent.parent
CONFIGS = ROOT / "training_config"


@pytest.fixture(autouse=True)
def _same_draws_in_every_test():
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _no_open_log_files():
    """Closes what training logs to, which AllenNLP leaves open."""
    yield
    root = logging.getLogger()
    for handler in list(root.handlers):
        if type(handler) in (logging.FileHandler, logging.StreamHandler):
            root.removeHandler(handler)
            handler.close()


@pytest.fixture
def at_root(monkeypatch):
    """Runs the test in the project's root, from where shipped configs name their files."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a training run of the toy config."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(ROOT)
        train_model(Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet"), str(folder))
    return folder


@pytest.fixture(scope="session")
def _archive(trained):
    return load_archive(trained / "model.tar.gz")


@pytest.fixture
def archive(_archive):
    """The model of that run, loaded; each test has a copy of its own."""
    return copy.deepcopy(_archive)
