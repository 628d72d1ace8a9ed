"""Other projects' tests and data, run on our CRF, spans, chains, readers and features.

`TAGGER_PEERS` names a folder with their sources, one subfolder per repository. They are not part of this
project; `docs/reference/peers.md` says where to get them and lists the results. The tests take a few
minutes. `TAGGER_ALLENNLP_SUITE` names a folder with AllenNLP's released `tests` and `test_fixtures`; its
tests take a quarter of an hour. Both need PyPI for pytest plugins.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tagger.data.formats.brat import read_brat
from tests.conftest import ROOT

PEERS, ALLENNLP = map(os.environ.get, ("TAGGER_PEERS", "TAGGER_ALLENNLP_SUITE"))
#: Pytest plugins that substitute our parts for others, and a `sitecustomize`.
PLUGINS = ROOT / "tests/system/peers"

pytestmark = pytest.mark.system
needs_peers = pytest.mark.skipif(
    not PEERS, reason="TAGGER_PEERS names no folder of other projects' sources"
)


class Peer(NamedTuple):
    """Tests of another project.

    Args:
        repository: The name of the folder with its sources.
        package: The tested package.
        tests: The relevant tests.
        plugins: Pytest options that substitute our parts for theirs. None for `torchcrf`, because ours
            has the same name and is found first.
        options: Pytest options for both runs.
        files: Further files that the tests read.
        cwd: The working directory of the tests.
        exceptions: Tests that fail only with our parts, and why this is intended.
    """

    repository: str
    package: str
    tests: tuple
    plugins: tuple = ()
    options: tuple = ()
    files: tuple = ()
    cwd: str = "."
    exceptions: dict = {}  # noqa: RUF012


SUITES = [
    Peer(
        "allennlp-models",
        "allennlp_models",
        ("tests/tagging",),
        ("-p", "our_crf_tagger"),
        files=("test_fixtures/tagging", "test_fixtures/structured_prediction/srl", "pytest.ini"),
    ),
    Peer(
        "seqeval",
        "seqeval",
        ("tests",),
        ("-p", "our_spans"),
        # This test compares with conlleval on 20,000 files.
        ("--deselect", "tests/test_metrics.py::TestMetrics::test_statistical_tests"),
        cwd="tests",
        exceptions={
            # Relative to `cwd`.
            "test_metrics.py::TestMetrics::test_get_entities_with_non_NE_input": (
                "a tag that spells no span is refused, not warned of"
            )
        },
    ),
    Peer(
        "pytorch-struct",
        "torch_struct",
        ("tests/test_algorithms.py", "tests/test_distributions.py"),
        ("-p", "our_chains"),
        (
            *("-p", "todays_libraries", "-k"),
            "LinearChain or linear_chain or lc_custom or hmm or simple or autoregressive",
        ),
    ),
    Peer(
        "pytorch-crf",
        "torchcrf",
        ("tests",),
        # TorchScript cannot compile a CRF that chooses its kernels.
        options=("-k", "not TorchScript"),
    ),
]
#: AllenNLP's tests that fail because of one of our features, and why this is intended.
EXCEPTIONS = {
    "tests/models/archival_test.py::ArchivalTest::test_can_load_from_archive_model": (
        "the config in an archive names another archive (`from_archive`); an archive is data, and may "
        "name nothing outside itself"
    ),
    "tests/modules/token_embedders/elmo_token_embedder_test.py::TestElmoTokenEmbedder::"
    "test_tagger_with_elmo_token_embedder_can_train_save_and_load": ("likewise, files of ELMo"),
}
# Stopping a test leaves workers that disturb the next one, so only stop tests that hang.
OPTIONS = ["-m", "not gpu and not java", "--timeout", "600", "--continue-on-collection-errors"]


class Outcome(NamedTuple):
    """How many tests passed, and the names of those that failed, but for those that were too slow."""

    num_passed: int
    failures: set


def copied(source, names, folder):
    """Copies files and folders, because tests may write next to themselves but not into the sources."""
    for name in names:
        path = Path(source, name)
        if path.is_dir():
            shutil.copytree(path, folder / name)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)


def install_plugins(folder, names):
    """Installs the pytest plugins that the tests use next to them."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", folder / "extra", *names], check=True)


def run_suite(suite, tests, options, paths, variables=(), cwd="."):
    """Runs the tests of a folder.

    Args:
        suite: The folder.
        tests: The arguments of pytest, relative to the folder.
        options: Options of pytest.
        paths: Folders to put first on `PYTHONPATH`, before this project.
        variables: Additional environment variables, as a mapping.
        cwd: The working directory, relative to the folder.
    """
    # Unlike `python -m pytest`, the command does not put the current folder on `sys.path`.
    command = [str(Path(sys.executable).with_name("pytest")), "-q", "--tb=no", "-rfE"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(suite), *options]
    settings = {
        # Wide enough not to truncate the reasons.
        "COLUMNS": "400",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(map(str, [*paths, ROOT, suite / "extra"])),
        "TRANSFORMERS_OFFLINE": "1",
    }
    done = subprocess.run(
        [*command, *(str(suite / each) for each in tests)],
        cwd=suite / cwd,
        env={**os.environ, **settings, **dict(variables)},
        capture_output=True,
        text=True,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-2000:] + done.stderr[-2000:]
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)(.*)$", done.stdout, re.MULTILINE)
    failures = {name for name, reason in found if "Timeout" not in reason}
    return Outcome(int(passed[1]), failures)


@needs_peers
@pytest.mark.parametrize("peer", SUITES, ids=lambda peer: peer.repository)
def test_tests_that_pass_with_their_code_pass_with_ours(peer, tmp_path):
    source, theirs = Path(PEERS, peer.repository), tmp_path / "theirs"
    copied(source, ["tests", *peer.files], tmp_path)
    copied(source, [peer.package], theirs)
    install_plugins(tmp_path, ["flaky"])
    without, ours = (
        run_suite(tmp_path, peer.tests, [*peer.options, *plugins], paths, cwd=peer.cwd)
        for plugins, paths in (((), [theirs, PLUGINS]), (peer.plugins, [PLUGINS, theirs]))
    )
    print(f"{without.num_passed} pass with theirs, {ours.num_passed} with ours")
    assert ours.failures - without.failures == peer.exceptions.keys()


@needs_peers
def test_every_entity_of_brats_example_data_is_read():
    folders = {path.parent for path in Path(PEERS, "brat/example-data").rglob("*.ann")}
    entity = re.compile(r"^T\d+\t(\S+) (\d+) (\d+)\t")
    counts = Counter()
    for folder in folders:
        for text in read_brat(folder):
            lines = Path(text.place).with_suffix(".ann").read_text("utf-8").split("\n")
            expected = [match.groups() for match in map(entity.match, lines) if match]
            found = [(each.label, str(each.start), str(each.end)) for each in text.entities]
            assert sorted(found) == sorted(expected), text.place
            counts.update(texts=1, entities=len(found))
    print(f"{counts['entities']} entities in {counts['texts']} texts of {len(folders)} corpora")
    assert counts["entities"] > 9000


@pytest.mark.skipif(not ALLENNLP, reason="TAGGER_ALLENNLP_SUITE names no copy of AllenNLP's tests")
def test_our_features_break_none_of_allennlps_tests(tmp_path):
    copied(ALLENNLP, ["tests", "test_fixtures", "pytest.ini"], tmp_path)
    plugins = ["flaky", "responses", "pytest-benchmark", "py-cpuinfo", "pytest-timeout"]
    install_plugins(tmp_path, plugins)

    def outcome(features, *options):
        variables = {"ALLENNLP_SRC_DIR": str(tmp_path), "TAGGER_FEATURES": features}
        options = [*OPTIONS, "-p", "no:logging", *options]
        return run_suite(tmp_path, ["tests"], options, [PLUGINS, tmp_path], variables)

    with_features, without = outcome("1", "-p", "our_trainer"), outcome("0")
    print(f"{with_features.num_passed} pass with our features, {without.num_passed} without")
    # Some tests fail anyway without spaCy's English model.
    assert with_features.failures - without.failures == EXCEPTIONS.keys() - without.failures


@pytest.mark.parametrize("features", [False, True])
def test_processes_started_by_allennlps_tests_have_no_features_either(features):
    code = "from tagger_compat import patches; print(patches.PATCHES != patches.LIBRARY_PATCHES)"
    path = os.pathsep.join(map(str, (PLUGINS, ROOT)))
    variables = {"PYTHONPATH": path, "TAGGER_FEATURES": str(int(features))}
    command = [sys.executable, "-c", code]
    done = subprocess.check_output(command, env={**os.environ, **variables}, text=True)
    assert done.split() == [str(features)]
