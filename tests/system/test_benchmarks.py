"""Benchmarks and slow parts of the GPU check run at the smallest size; timings are not tested."""

import subprocess
import sys

import pytest

from tests.conftest import CONFIGS, ROOT
from tests.scripts.test_check_gpu import (
    SLOW_PARTS,
    check_part,
    data,  # noqa: F401  (a fixture)
)
from tests.transformers.small import save_bert

pytestmark = pytest.mark.system
COLUMNS = "Anna NNP I-NP I-PER\nwent VBD I-VP O\n\nKeller NNP I-NP I-PER\nleft VBD I-VP O\n"


@pytest.fixture
def corpus(tmp_path):
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / name).write_text(COLUMNS)
    return tmp_path


TINY = "--rounds 1 --busy --policies PASSIVE"


@pytest.mark.parametrize(
    ("script", "options", "shown"),
    [
        (
            "crf",
            f"--sizes 2x4x3 --repeats 1 --tables crf weightings {TINY}",
            "2x4x3 decoding | ours",
        ),
        (
            "prediction",
            f"--data {{corpus}} --sentences 2 --runs 1 --sides AllenNLP ours {TINY} "
            "--config {configs}/conll2003_bilstm_crf.jsonnet",
            "conll2003_bilstm_crf.jsonnet |",
        ),
        (
            "training",
            f"--data {{corpus}} --sentences 2 --epochs 1 --sides AllenNLP one-line {TINY} "
            "--without-limits",
            "| evaluation | one-line |",
        ),
        ("limits", f"--sides ours {TINY}", "cores in effect"),
        ("start_up", "--rounds 1 --busy", "| predict | ours |"),
        (
            "policy",
            "--data {corpus} --sentences 2 --seconds 0.01 --busy --policies PASSIVE --conditions 7",
            "| training step, AllenNLP | 2 threads on one core |",
        ),
        (
            "transformer",
            "--data {corpus}/eng.train --transformer {corpus}/tiny --sentences 2 --rounds 1",
            "upper 2, bfloat16",
        ),
    ],
)
def test_a_benchmark_runs(script, options, shown, corpus, warm_python):
    if "--transformer" in options:
        save_bert(corpus / "tiny")
    arguments = options.format(corpus=corpus, configs=CONFIGS).split()
    printed = subprocess.check_output(
        [sys.executable, "-m", f"scripts.experiments.benchmarks.{script}", *arguments],
        text=True,
        cwd=ROOT,
    )
    assert shown in printed
    assert "failed" not in printed


@pytest.mark.parametrize("name", SLOW_PARTS)
@pytest.mark.usefixtures("data")
def test_a_slow_part_of_the_gpu_check_runs(name):
    check_part(name)
