"""Fixtures shared by all tests.

Test files run in parallel processes with one thread each, which share the results of slow fixtures.
The process that distributes the tests reads this file too, so libraries are imported inside functions.
"""

import argparse
import contextlib
import copy
import functools
import gc
import logging
import multiprocessing
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest
from filelock import FileLock

from tests import warm_python as warm

ROOT = Path(__file__).parent.parent
CONFIGS = ROOT / "training_config"
SYSTEM_TESTS = ROOT / "tests" / "system"
#: The seconds that a test of a service may take on a busy machine.
MOST_SECONDS = 600
#: Environment variable with the path of the warm executable when several processes run tests.
WARM = "TAGGER_TESTS_WARM_PYTHON"


def has_gpu():
    # PyTorch would know, but takes seconds to import.
    if not any(Path(driver).exists() for driver in ("/proc/driver/nvidia", "/dev/dxg")):
        return False
    import torch

    return torch.cuda.is_available()


# Libraries read these on import, and the conftest of a subfolder may import them before
# `pytest_configure` is called. Waiting threads must not spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if not has_gpu():
    # Without a GPU, Triton interprets its kernels.
    os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_addoption(parser):
    parser.addoption("--problems", type=int, default=150, help="how many the fuzzer tries")
    parser.addoption("--seed", type=int, default=0, help="of the fuzzer's problems")


def pytest_configure(config):
    # Imports are 20 % faster without garbage collection.
    gc.disable()
    if "PYTEST_XDIST_WORKER" in os.environ:
        _share_compiled_kernels(Path(config.option.basetemp).parent)
    runs_tests = config.getoption("dist", "no") == "no"
    if runs_tests:
        from tagger.commands.components import import_all

        import_all()
    else:
        stack = contextlib.ExitStack()
        config.add_cleanup(stack.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        # The worker processes inherit it.
        os.environ[WARM] = stack.enter_context(warm.started(Path(folder)))


def _share_compiled_kernels(folder):
    """Lets one process compile a kernel while the others wait for its lock in `folder`, then load it."""
    from numba.core.dispatcher import Dispatcher

    compile_kernel, compiling = Dispatcher.compile, []

    def compile_once(dispatcher, signature):
        function = dispatcher.py_func
        # The kernels that it calls are compiled under the same lock.
        if compiling or not function.__module__.startswith("tagger."):
            return compile_kernel(dispatcher, signature)
        compiling.append(function)
        try:
            with FileLock(folder / f"{function.__module__}.{function.__name__}.lock"):
                return compile_kernel(dispatcher, signature)
        finally:
            compiling.clear()

    Dispatcher.compile = compile_once


def pytest_ignore_collect(collection_path, config):
    """Skips the slow system tests unless the command line names their folder."""
    if collection_path != SYSTEM_TESTS:
        return None
    named = [Path(arg.partition("::")[0]).resolve() for arg in config.args]
    return not any(SYSTEM_TESTS in (path, *path.parents) for path in named) or None


def pytest_collection_finish():
    # The collector can ignore everything imported so far, and look less often at what comes.
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _no_waiting():
    """Loads the rules of each language once, and leaves it to the system when files reach the disk."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in (
            "tagger.data.tokenizers.WordSplitter",
            "tagger.data.text_splitter.sentence_pipeline",
            "tagger.tools.start.tokenization.splitter_at_hand",
        ):
            monkeypatch.setattr(name, functools.cache(pkgutil.resolve_name(name)))
        monkeypatch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(autouse=True)
def _same_draws_in_every_test():
    import torch

    # Without a GPU, `torch.manual_seed` would format the stack, in case one appears later.
    (torch.manual_seed if has_gpu() else torch.default_generator.manual_seed)(0)


@pytest.fixture(autouse=True)
def _no_open_log_files():
    """Closes the log files that AllenNLP leaves open after training."""
    yield
    root = logging.getLogger()
    for handler in list(root.handlers):
        if type(handler) in (logging.FileHandler, logging.StreamHandler):
            root.removeHandler(handler)
            handler.close()


@pytest.fixture(params=[1, 2, 5])
def num_threads(request):
    """Sets the number of PyTorch threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture
def in_forked_process():
    """Calls a function without arguments in a forked process and returns its result."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("needs fork")

    def call(function):
        receiving, sending = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        process = context.Process(target=lambda: sending.send(function()))
        with warnings.catch_warnings():
            # Newer Python versions warn about forking with threads, which is what these tests do.
            warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
            process.start()
        # Close our copy, so that the pipe ends when the child does.
        sending.close()
        try:
            assert receiving.poll(60), "the forked process does not answer"
            return receiving.recv()
        finally:
            process.kill()
            process.join()

    return call


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """A folder shared by all processes of this test run."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def warm_executable(tmp_path_factory):
    """Like `sys.executable`, but with the libraries loaded and without Triton's interpreter."""
    if WARM in os.environ:
        yield os.environ[WARM]
        return
    with warm.started(tmp_path_factory.getbasetemp()) as python:
        yield python


@pytest.fixture
def warm_python(warm_executable, monkeypatch):
    """Replaces `sys.executable`, also for `multiprocessing`, with the warm executable."""
    before = multiprocessing.spawn.get_executable()
    monkeypatch.setattr(sys, "executable", warm_executable)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    multiprocessing.set_executable(warm_executable)
    yield
    multiprocessing.set_executable(before)


class Outcome(NamedTuple):
    succeeded: bool
    output: str


@pytest.fixture
def run_fresh(warm_python, tmp_path):
    """Runs code in an empty folder, in a process that has not imported AllenNLP yet."""

    def run(code):
        command = [sys.executable, "-c", code]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, cwd=tmp_path, text=True, **streams)
        return Outcome(done.returncode == 0, done.stdout)

    return run


@pytest.fixture
def succeed_fresh(run_fresh):
    """Like `run_fresh`, but asserts success and returns the output."""

    def run(code):
        outcome = run_fresh(code)
        assert outcome.succeeded, outcome.output
        return outcome.output

    return run


@pytest.fixture
def time_limit():
    """Fails a test that takes more than `MOST_SECONDS`: perhaps a service does not answer."""

    def stop(*_):
        raise TimeoutError(f"the test takes more than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MOST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def at_root(monkeypatch):
    """Runs the test in the project's root, to which the paths in shipped configs are relative."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session")
def _plugins():
    from allennlp.common.plugins import import_plugins

    import_plugins()


@pytest.fixture
def allennlp(_plugins, monkeypatch):
    """Runs an `allennlp` command in this process."""
    from allennlp import commands

    # Importing the plugins takes seconds each time.
    monkeypatch.setattr(commands, "import_plugins", lambda: None)
    all_commands = commands.Subcommand.list_available()
    # What `serve` silences, other tests read.
    for name in ("allennlp.common.params", "tagger.predictors.batched_predictor"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["allennlp", *map(str, arguments)])
        # Here, all commands are registered, and the parsers of the others would be built each time.
        listed = [name for name in all_commands if name in arguments[:1]] or all_commands
        monkeypatch.setattr(commands.Subcommand, "list_available", lambda: listed)
        commands.main(prog="allennlp")

    return run


@pytest.fixture
def parsers(_plugins, monkeypatch):
    """The parser of each of our subcommands."""
    from allennlp.commands import parse_args
    from allennlp.commands.subcommand import Subcommand

    found = []

    def keep_and_leave(parser, *_):
        found.append(parser)
        raise EOFError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", keep_and_leave)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", keep_and_leave)
    monkeypatch.setattr("sys.argv", ["allennlp", "describe"])
    with pytest.raises(EOFError):
        parse_args("allennlp")
    (commands,) = (
        action for action in found[-1]._actions if isinstance(action, argparse._SubParsersAction)
    )
    parsers = {
        name: parser
        for name, parser in commands.choices.items()
        if Subcommand.by_name(name).__module__.startswith("tagger.")
    }
    assert {"train", "split", "tune-decoding"} <= {*parsers}
    return parsers


@pytest.fixture(scope="session")
def train_once(shared_folder):
    """Returns the folder of a training run. One process trains it for all."""
    from allennlp.commands.train import train_model
    from allennlp.common import Params

    def train_once(name, config, overrides=""):
        folder = shared_folder / "runs" / name
        with FileLock(shared_folder / f"{name}.lock"), pytest.MonkeyPatch.context() as monkeypatch:
            if not (folder / "model.tar.gz").exists():
                monkeypatch.chdir(ROOT)
                train_model(Params.from_file(CONFIGS / config, overrides), str(folder), force=True)
        return folder

    return train_once


@pytest.fixture(scope="session")
def trained(train_once):
    """The folder of a run of the toy config."""
    return train_once("toy", "toy_bilstm_crf.jsonnet")


#: Settings of a shorter run with another seed.
OTHERWISE = {"random_seed": 1, "numpy_seed": 1, "pytorch_seed": 1, "trainer.num_epochs": 5}


@pytest.fixture(scope="session")
def trained_otherwise(train_once):
    """The folder of a run of the toy config with the settings `OTHERWISE`."""
    return train_once("toy_otherwise", "toy_bilstm_crf.jsonnet", OTHERWISE)


@pytest.fixture
def good(trained):
    """The archive of the toy run."""
    return trained / "model.tar.gz"


@pytest.fixture(scope="module")
def model(trained):
    """The tagger of the toy run, in Python; all tests of a module share it."""
    import tagger

    return tagger.load(trained / "model.tar.gz")


@pytest.fixture
def baited(tmp_path, monkeypatch):
    """The current folder, with modules and files that hostile configs refer to."""
    from tests.system.archives import place_bait

    path = tmp_path / "current"
    path.mkdir()
    monkeypatch.chdir(path)
    # As the command `allennlp` does with the current folder.
    monkeypatch.syspath_prepend(str(path))
    place_bait(path)
    return path


@pytest.fixture
def changed(good, tmp_path):
    """Writes a changed copy of the good archive; takes the arguments of `write_archive`."""
    from tests.system.archives import write_archive

    def write(*arguments, **keywords):
        path = tmp_path / "current" / "hostile.tar.gz"
        path.parent.mkdir(exist_ok=True)
        write_archive(good, path, *arguments, **keywords)
        return path

    return write


@pytest.fixture(scope="session")
def trained_on_documents(shared_folder):
    """The folder of a run on documents in which one sentence reveals a name's label in the other."""
    from allennlp.commands.train import train_model

    from tests.documents import documents_config

    folder = shared_folder / "documents"
    with FileLock(shared_folder / "documents.lock"):
        if not (folder / "run" / "model.tar.gz").exists():
            folder.mkdir(exist_ok=True)
            train_model(documents_config(folder), str(folder / "run"), force=True)
    return folder / "run"


@pytest.fixture(scope="session")
def _archive(trained):
    from allennlp.models import load_archive

    return load_archive(trained / "model.tar.gz")


@pytest.fixture
def archive(_archive):
    """The loaded model of the toy run. Each test has its own copy."""
    return copy.deepcopy(_archive)


@pytest.fixture(scope="module")
def s3():
    """A local S3 server with a bucket."""
    import fsspec
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            environment.setenv(name, "any")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        environment.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
        # A cached file system may still point to the server of another test module.
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        store = fsspec.filesystem("s3")
        store.mkdir("bucket")
        yield "s3://bucket"
        # All servers of a process share their contents.
        store.rm("bucket", recursive=True)
    server.stop()
