"""A killed search resumes as if unbroken, and processes share it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT
from tests.tools.studies.test_search import results, write  # noqa: F401  (a fixture)

pytestmark = pytest.mark.system


@pytest.mark.usefixtures("warm_python")
def test_a_killed_search_resumes_as_if_unbroken_and_processes_share_it(write, allennlp, tmp_path):  # noqa: F811
    path, broken, whole = write(), tmp_path / "broken", tmp_path / "whole"
    allennlp("study", path, "-s", whole, "--workers", "1")
    command = [sys.executable, "-m", "allennlp", "study", path, "-s", broken, "--workers", "1"]
    running = subprocess.Popen(command, cwd=ROOT)
    while not (broken / "runs/1/1/metrics_epoch_0.json").exists():
        assert running.poll() is None
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    together = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [process.wait() for process in together] == [0, 0]
    allennlp("study", path, "-s", broken)
    # The first two trials were asked for one after the other, the third perhaps beside the second.
    assert results(broken)[:2] == results(whole)[:2]
    assert [row["trial"] for row in results(broken)] == ["0", "1", "2"]
    assert {row["state"] for row in results(broken)} == {"complete"}
