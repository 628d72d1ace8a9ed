"""GPU kernels are compared with plain PyTorch before they are used."""

import importlib
import logging
import shutil
from pathlib import Path

import pytest
import torch

from tagger.linear_chain import (
    IMPLEMENTATIONS as FOUND,
    implementations,
    kernel_check,
    log_likelihood,
    use_implementation,
)
from tests.linear_chain.cases import IMPLEMENTATIONS, Case
from tests.linear_chain.conftest import needs_triton

pytestmark = needs_triton


@pytest.fixture(autouse=True)
def _new_process_and_machine(monkeypatch, tmp_path):
    """Starts without known results, and makes the CPU pass as a GPU with interpreted kernels."""
    monkeypatch.delenv("TAGGER_KERNELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernel_check, "_known", {})
    # Short sequences, because the interpreter is slow.
    monkeypatch.setattr(kernel_check, "_LENGTHS", (3, 0))
    monkeypatch.setattr(implementations, "_device_type", lambda scores: "cuda")


class Spoilt:
    """Runs a kernel, then spoils its result."""

    def __init__(self, kernel, spoil):
        self.kernel, self.spoil = kernel, spoil

    def __getitem__(self, grid):
        def launch(*args, **kwargs):
            self.kernel[grid](*args, **kwargs)
            self.spoil(args)

        return launch


def spoil(monkeypatch, name, change):
    module, kernel = name.split(".")
    module = importlib.import_module(f"tagger.linear_chain.cuda.{module}")
    monkeypatch.setattr(module, kernel, Spoilt(getattr(module, kernel), change))


def emission_gradient(num_tags=3, dtype=torch.float64):
    scores, tags, mask = Case((2, 1), num_tags, dtype=dtype).batch(IMPLEMENTATIONS["cuda"].device)
    emissions = scores.emissions.requires_grad_()
    return torch.autograd.grad(log_likelihood(scores, tags, mask).sum(), emissions)[0]


def test_kernels_that_agree_are_used_and_the_result_is_cached(monkeypatch, tmp_path):
    scores, _, _ = Case((2, 1), 3).batch(IMPLEMENTATIONS["cuda"].device)
    assert implementations.implementation_for(scores) is FOUND["cuda"]
    assert len(list((tmp_path / "tagger" / "checked_kernels").iterdir())) == 1

    def fail(*args):
        raise AssertionError("checked again")

    monkeypatch.setattr(kernel_check, "differences", fail)
    implementations.implementation_for(scores)
    monkeypatch.setattr(kernel_check, "_known", {})  # As in another process.
    assert implementations.implementation_for(scores) is FOUND["cuda"]
    for name, changed in (("_kernels_digest", lambda: "others"), ("torch.__version__", "9.9")):
        monkeypatch.setattr(kernel_check, "_known", {})
        with monkeypatch.context() as patch:
            patch.setattr(f"tagger.linear_chain.kernel_check.{name}", changed)
            with pytest.raises(AssertionError, match="checked again"):
                implementations.implementation_for(scores)


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        *[
            (name, True)
            for name in ("cuda/tiles.py", "kernel_check.py", "reference.py", "values.py")
        ],
        ("kernels/exponentials.py", True),
        ("cpu/functions.py", False),
    ],
)
def test_kernels_are_checked_again_when_what_they_are_compared_with_changes(
    file, counts, tmp_path, monkeypatch
):
    shutil.copytree(Path(kernel_check.__file__).parent, tmp_path / "chains")
    monkeypatch.setattr(kernel_check, "__file__", str(tmp_path / "chains/kernel_check.py"))
    before = kernel_check._kernels_digest()
    with (tmp_path / "chains" / file).open("a") as source:
        source.write("#")
    assert (kernel_check._kernels_digest() != before) is counts


def run_out(args):
    raise RuntimeError("out of registers")


@pytest.mark.parametrize(
    ("kernel", "change", "named"),
    [
        ("launches.adjoint_kernel", lambda args: args[7].mul_(1.001), "log_likelihood"),
        ("launches.forward_kernel", lambda args: args[6].add_(1e-6), "log_partition"),
        ("functions.best_path_kernel", lambda args: args[6].zero_(), "k_best_decode"),
        ("functions.sample_kernel", lambda args: args[5].zero_(), "sample_paths"),
        ("launches.adjoint_kernel", run_out, "RuntimeError: out of registers"),
    ],
)
def test_broken_kernels_are_replaced_by_plain_pytorch(
    kernel, change, named, monkeypatch, caplog, tmp_path
):
    with use_implementation("reference"):
        expected = emission_gradient()
    spoil(monkeypatch, kernel, change)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert torch.equal(emission_gradient(), expected)
    (record,) = caplog.records
    assert named in record.message
    assert "3 tags in float64" in record.message
    assert not (tmp_path / "tagger").exists()


def test_each_number_of_tags_and_dtype_is_checked_separately(monkeypatch):
    asked, kinds = [], [(3, torch.float64), (4, torch.float64), (3, torch.float32)]
    monkeypatch.setattr(kernel_check, "differences", lambda _, *args: asked.append(args) or [])
    for kind in kinds * 2:
        emission_gradient(*kind)
    assert asked == [(str(IMPLEMENTATIONS["cuda"].device), *kind) for kind in kinds]


def test_the_environment_variable_overrides_the_check(monkeypatch):
    with use_implementation("reference"):
        expected = emission_gradient()
    spoil(monkeypatch, "launches.adjoint_kernel", lambda args: args[7].mul_(2))
    monkeypatch.setattr(kernel_check, "differences", None)
    monkeypatch.setenv("TAGGER_KERNELS", "reference")
    assert torch.equal(emission_gradient(), expected)
    monkeypatch.setenv("TAGGER_KERNELS", "triton")
    assert not torch.allclose(emission_gradient(), expected)
    monkeypatch.setenv("TAGGER_KERNELS", "numba")
    with pytest.raises(ValueError, match="`TAGGER_KERNELS` must be .*; got `numba`"):
        emission_gradient()


def test_a_cache_that_cannot_be_written_changes_nothing(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    scores, _, _ = Case((2, 1), 3).batch(IMPLEMENTATIONS["cuda"].device)
    assert implementations.implementation_for(scores) is FOUND["cuda"]


def test_a_fault_in_the_process_of_the_check_is_reported(monkeypatch):
    (found,) = kernel_check.differences_in_a_process("cuda:99", 2, torch.float32)
    assert "ended with status 1" in found
    assert "CUDA" in found
    monkeypatch.setattr(kernel_check, "_SECONDS_OF_A_CHECK", 0.01)
    (found,) = kernel_check.differences_in_a_process("cpu", 2, torch.float32)
    assert found == "the check took more than 0.01 seconds"
