"""The GPU kernels, compiled in a separate process because this one may interpret them."""

import json
import os
import re
import subprocess

import pytest
import torch

from tagger.linear_chain import use_implementation
from tests.conftest import ROOT
from tests.linear_chain.cases import Case
from tests.linear_chain.conftest import needs_triton

pytestmark = needs_triton

# Every variant once, and some variants for other targets, tiles and dtypes. The script compiles all
# combinations when it is called without arguments.
CASES = [
    "90/33/float32",
    "80/64/float32/log_likelihood",
    "90/64/float32/log_likelihood",
    "100/64/float32/tag_marginals",
    "80/48/float32/log_likelihood",
    "100/9/float64/log_likelihood",
]
VARIANTS = {
    "forward",
    "forward (messages)",
    "forward (tags)",
    "forward (tags, messages)",
    "forward (messages, arrivals)",
    "forward (messages, arrivals, from the end)",
    "adjoint",
    "adjoint (tags)",
    "adjoint (of arrivals)",
    "adjoint (of arrivals, from the end)",
    "best_path",
    "sample",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory, warm_executable):
    path = tmp_path_factory.mktemp("kernels") / "report.json"
    command = ["-m", "scripts.experiments.report_kernels", *CASES, "--json", str(path)]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    result = subprocess.run(
        [warm_executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    reports = json.loads(path.read_text())
    assert result.stdout.count("\n| ") == len(reports)
    return reports


def test_every_variant_compiles(reports):
    assert {report["kernel"] for report in reports if report["target"] == "sm_90"} == VARIANTS
    compiled = {(report["target"], report["tags"], report["type"]) for report in reports}
    assert compiled >= {
        ("sm_80", 64, "float32"),
        ("sm_100", 64, "float32"),
        ("sm_100", 9, "float64"),
    }
    assert {report["tile"] for report in reports} == {"16", "32+1", "32+16", "64"}


def kernels_of_the_sources():
    sources = "".join(path.read_text() for path in (ROOT / "tagger").rglob("*.py"))
    return set(re.findall(r"@triton\.jit(?:\(.*\))?\ndef (\w+)_kernel\(", sources))


def test_every_kernel_is_compiled(reports):
    assert {report["kernel"].split(" (")[0] for report in reports} == kernels_of_the_sources()


@pytest.mark.skipif(torch.cuda.is_available(), reason="kernels are interpreted without a GPU")
def test_every_kernel_runs_in_the_interpreter(monkeypatch):
    from triton.runtime.interpreter import GridExecutor

    from scripts.experiments.report_kernels import FUNCTIONS

    interpreted, run = set(), GridExecutor.__call__

    def record(self, *args, **kwargs):
        interpreted.add(self.fn.__name__.removesuffix("_kernel"))
        return run(self, *args, **kwargs)

    monkeypatch.setattr(GridExecutor, "__call__", record)
    scores, tags, _ = Case((2,), 2).batch(torch.device("cpu"))
    scores.emissions.requires_grad_()
    with use_implementation("cuda"):
        for function in FUNCTIONS.values():
            value = function(scores, tags)
            if value.requires_grad:
                value.sum().backward()
    assert interpreted == kernels_of_the_sources()


def test_no_registers_spill_up_to_64_tags_in_float32(reports):
    single = [report for report in reports if report["type"] == "float32" and report["tags"] <= 64]
    assert {report["target"] for report in single} == {"sm_80", "sm_90", "sm_100"}
    for report in single:
        assert report["spilled"] == 0, report
        assert 0 < report["registers"] <= 255


def test_shared_memory_stays_below_the_default_limit(reports):
    for report in reports:
        assert report["shared"] <= 48 * 1024
