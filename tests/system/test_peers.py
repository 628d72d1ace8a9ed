"""Other projects' own tests and data, on our CRF, our spans, our chains and our readers.

`TAGGER_PEERS` names a folder with their sources, each in a folder with the name of its repository. They
are not part of this project; `docs/reference/peers.md` says where they come from, and what came out. It
takes a few minutes, and PyPI for a plugin of pytest.
"""

import os
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tagger.data.formats.brat import read_brat
from tests.system.suites import PLUGINS, copied, install_plugins, run_suite

PEERS = os.environ.get("TAGGER_PEERS")


class Peer(NamedTuple):
    """Tests of another project.

    Args:
        repository: The name of its folder.
        package: What is tested.
        tests: The tests that concern us.
        plugins: The options of pytest that put ours in place of theirs; none for `torchcrf`, which has
            the name of theirs and is found before it.
        options: Options of pytest with ours and with theirs.
        files: What the tests read, besides `tests`.
        cwd: Where the tests run.
        exceptions: Tests that fail with ours and pass with theirs, and why that is meant so.
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
        # It compares with conlleval on 20,000 files.
        ("--deselect", "tests/test_metrics.py::TestMetrics::test_statistical_tests"),
        cwd="tests",
        exceptions={
            # relative to `cwd`
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
            "-p",
            "todays_libraries",
            "-k",
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

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not PEERS, reason="TAGGER_PEERS names no folder of other projects' sources"),
]


@pytest.mark.parametrize("peer", SUITES, ids=lambda peer: peer.repository)
def test_their_tests_pass_with_ours_where_they_pass_with_theirs(peer, tmp_path):
    source = Path(PEERS, peer.repository)
    copied(source, ["tests", *peer.files], tmp_path)
    copied(source, [peer.package], tmp_path / "theirs")
    install_plugins(tmp_path, ["flaky"])
    theirs, ours = (
        run_suite(
            tmp_path,
            peer.tests,
            [*peer.options, *(peer.plugins if is_ours else ())],
            [PLUGINS, tmp_path / "theirs"] if is_ours else [tmp_path / "theirs", PLUGINS],
            cwd=tmp_path / peer.cwd,
        )
        for is_ours in (False, True)
    )
    print(f"{theirs.num_passed} pass with theirs, {ours.num_passed} with ours")
    assert ours.failures - theirs.failures == peer.exceptions.keys()


_ENTITY = re.compile(r"^T\d+\t(\S+) (\d+) (\d+)\t")


def test_every_entity_of_brats_example_data_is_read():
    folders = {path.parent for path in Path(PEERS, "brat/example-data").rglob("*.ann")}
    counts = Counter()
    for folder in folders:
        for text in read_brat(folder):
            lines = Path(text.place).with_suffix(".ann").read_text("utf-8").split("\n")
            expected = [match.groups() for match in map(_ENTITY.match, lines) if match]
            found = [(each.label, str(each.start), str(each.end)) for each in text.entities]
            assert sorted(found) == sorted(expected), text.place
            counts.update(texts=1, entities=len(found))
    print(f"{counts['entities']} entities in {counts['texts']} texts of {len(folders)} corpora")
    assert counts["entities"] > 9000
