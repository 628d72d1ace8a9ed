"""AllenNLP's own tests fail with our features where they fail without, and nowhere else.

`TAGGER_ALLENNLP_SUITE` names a folder with AllenNLP's `tests` and `test_fixtures` as released. It takes
a quarter of an hour, and PyPI for the plugins of pytest that those tests use.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SUITE = os.environ.get("TAGGER_ALLENNLP_SUITE")
#: Tests that fail because of a feature of ours, and why that is meant so.
EXCEPTIONS = {
    "tests/models/archival_test.py::ArchivalTest::test_can_load_from_archive_model": (
        "the config in an archive names another archive (`from_archive`); an archive is data, and may "
        "name nothing outside itself"
    ),
    "tests/modules/token_embedders/elmo_token_embedder_test.py::TestElmoTokenEmbedder::"
    "test_tagger_with_elmo_token_embedder_can_train_save_and_load": ("likewise, files of ELMo"),
}
PLUGINS = ["flaky", "responses", "pytest-benchmark", "py-cpuinfo", "pytest-timeout"]

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not SUITE, reason="TAGGER_ALLENNLP_SUITE names no copy of AllenNLP's tests"),
]


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A copy of the tests, beside what they import."""
    folder = tmp_path_factory.mktemp("suite")
    for name in ("tests", "test_fixtures", "pytest.ini"):
        source = Path(SUITE, name)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", folder / "extra", *PLUGINS], check=True)
    return folder


def outcome(suite, features):
    """How many tests pass, and the names of those that fail, without those that were too slow."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not gpu and not java"]
    command += ["--timeout", "60", "--continue-on-collection-errors", "-rfE", "--tb=no"]
    command += ["-p", "no:logging", "-p", "no:cacheprovider", "--rootdir", suite]
    command += ["-p", "our_trainer"] if features else []
    # Every interpreter that the tests start reads the `sitecustomize` there.
    paths = [ROOT / "tests/system/allennlp_features", ROOT, suite, suite / "extra"]
    settings = {
        "ALLENNLP_SRC_DIR": str(suite),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "TAGGER_FEATURES": str(int(features)),
        "TRANSFORMERS_OFFLINE": "1",
    }
    done = subprocess.run(
        [*command, suite / "tests"],
        cwd=suite,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )
    passed = re.search(r"(\d{3,}) passed", done.stdout)
    assert passed, done.stdout[-2000:] + done.stderr[-2000:]
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)(.*)$", done.stdout, re.MULTILINE)
    return int(passed[1]), {name for name, reason in found if "Timeout" not in reason}


def test_our_features_break_none_of_allennlps_tests(suite):
    (num_with, with_features), (num_without, without) = (
        outcome(suite, features) for features in (True, False)
    )
    print(f"{num_with} pass with our features, {num_without} without")
    # Without spaCy's model for English some fail in any case.
    assert with_features - without == EXCEPTIONS.keys() - without


def test_the_features_are_off_in_processes_that_tests_start(suite):
    code = "from tagger_compat import mends; print(mends.MENDS == mends.LIBRARY_MENDS)"
    paths = os.pathsep.join(map(str, (ROOT / "tests/system/allennlp_features", ROOT)))
    for features, expected in ((0, "True"), (1, "False")):
        variables = {"PYTHONPATH": paths, "TAGGER_FEATURES": str(features)}
        command = [sys.executable, "-c", code]
        assert subprocess.check_output(command, env={**os.environ, **variables}, text=True).split() == [expected]
