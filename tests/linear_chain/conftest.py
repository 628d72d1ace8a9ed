"""Fixtures for the linear chain tests. Libraries are imported lazily, as in `tests/conftest.py`."""

import importlib.util
import sys

import pytest

from tests.conftest import has_gpu

HAS_TRITON = importlib.util.find_spec("triton") is not None
# On Linux, a missing Triton is a failure.
needs_triton = pytest.mark.skipif(
    not HAS_TRITON and sys.platform != "linux", reason="Triton exists for Linux only"
)

#: Marks for the tests of each implementation.
MARKS = {
    "cpu": (),
    "cuda": needs_triton,
    "gpu": [pytest.mark.gpu, pytest.mark.skipif(not has_gpu(), reason="needs a CUDA device")],
}
in_triton = pytest.mark.parametrize(
    "implementation", [pytest.param("cuda", marks=needs_triton)], indirect=True
)

#: Leaves the GPU kernels out of tests with thousands of samples or tokens: the interpreter is slow.
#: `test_samples_equal_the_reference` shows that the kernels draw the same samples as the reference.
on_cpus = pytest.mark.parametrize("every_implementation", ["reference", "cpu"], indirect=True)


def pytest_itemcollected(item):
    """Marks the tests that run on this machine's GPU."""
    import torch

    arguments = item.callspec.params if hasattr(item, "callspec") else {}
    if arguments.get("implementation") == "cuda" and torch.cuda.is_available():
        item.add_marker(pytest.mark.gpu)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=needs_triton)])
def implementation(request):
    """Makes all functions use the implementation."""
    from tagger.linear_chain import use_implementation
    from tests.linear_chain.cases import IMPLEMENTATIONS

    name = {"gpu": "cuda"}.get(request.param, request.param)
    with use_implementation(name):
        yield IMPLEMENTATIONS[name]


@pytest.fixture(params=["reference", "cpu", pytest.param("cuda", marks=needs_triton)])
def every_implementation(request):
    """Makes all functions use the implementation. Returns its name."""
    from tagger.linear_chain import use_implementation

    with use_implementation(request.param):
        yield request.param


@pytest.fixture
def uninitialized_memory_holds_nan(monkeypatch):
    import torch

    def poisoned(allocate):
        def allocate_and_fill(*args, **kwargs):
            tensor = allocate(*args, **kwargs)
            return tensor.fill_(torch.nan if tensor.is_floating_point() else 99)

        return allocate_and_fill

    for name in ("empty", "empty_like"):
        monkeypatch.setattr(torch, name, poisoned(getattr(torch, name)))


@pytest.fixture(autouse=True, scope="package")
def _interpreter_prepares_its_language_once():
    """Halves the run time: Triton's interpreter would prepare its language at every function call."""
    if not HAS_TRITON:
        yield
        return
    from triton.runtime import interpreter

    prepare = interpreter._patch_lang
    scopes = {}

    def prepare_once(function):
        module = id(function.__globals__)
        if module not in scopes:
            scopes[module] = prepare(function)
        return interpreter._LangPatchScope()

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(interpreter, "_patch_lang", prepare_once)
        yield
    for scope in reversed(scopes.values()):
        scope.restore()
