"""AllenNLP's own tests fail with our features where they fail without, and nowhere else.

`TAGGER_ALLENNLP_SUITE` names a folder with AllenNLP's `tests` and `test_fixtures` as released. It takes
a quarter of an hour, and PyPI for the plugins of pytest that those tests use.
"""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.system.suites import PLUGINS, copied, install_plugins, run_suite

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
EXTRA = ["flaky", "responses", "pytest-benchmark", "py-cpuinfo", "pytest-timeout"]
# A test that is stopped leaves workers that disturb the next, so only one that hangs may be.
OPTIONS = ["-m", "not gpu and not java", "--timeout", "600", "--continue-on-collection-errors"]

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A copy of the tests, beside what they import."""
    folder = tmp_path_factory.mktemp("suite")
    copied(SUITE, ["tests", "test_fixtures", "pytest.ini"], folder)
    install_plugins(folder, EXTRA)
    return folder


def outcome(suite, features):
    plugins = ["-p", "no:logging", *(("-p", "our_trainer") if features else ())]
    variables = {"ALLENNLP_SRC_DIR": str(suite), "TAGGER_FEATURES": str(int(features))}
    return run_suite(suite, ["tests"], [*OPTIONS, *plugins], [PLUGINS, suite], variables)


@pytest.mark.skipif(not SUITE, reason="TAGGER_ALLENNLP_SUITE names no copy of AllenNLP's tests")
def test_our_features_break_none_of_allennlps_tests(suite):
    with_features, without = (outcome(suite, features) for features in (True, False))
    print(f"{with_features.num_passed} pass with our features, {without.num_passed} without")
    # Without spaCy's model for English some fail in any case.
    assert with_features.failures - without.failures == EXCEPTIONS.keys() - without.failures


@pytest.mark.parametrize("features", [False, True])
def test_processes_that_the_tests_start_leave_the_features_out_too(features):
    code = "from tagger_compat import patches; print(patches.PATCHES != patches.LIBRARY_PATCHES)"
    variables = {
        "PYTHONPATH": os.pathsep.join(map(str, (PLUGINS, ROOT))),
        "TAGGER_FEATURES": str(int(features)),
    }
    command = [sys.executable, "-c", code]
    done = subprocess.check_output(command, env={**os.environ, **variables}, text=True)
    assert done.split() == [str(features)]
