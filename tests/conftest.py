import copy
import logging
import multiprocessing
import warnings
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


@pytest.fixture(params=[1, 2, 5])
def num_threads(request):
    """How many threads PyTorch may use."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture
def in_forked_process():
    """Calls a function without arguments in a process forked from this one; gives its result."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("needs fork")

    def call(function):
        receiving, sending = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        process = context.Process(target=lambda: sending.send(function()))
        with warnings.catch_warnings():
            # Newer Pythons warn of forking where there are threads, which is what is tested.
            warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
            process.start()
        try:
            assert receiving.poll(60), "the forked process does not answer"
            return receiving.recv()
        finally:
            process.kill()
            process.join()

    return call


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
