"""Hundreds of archives that try to run, write, read or fetch something, or to take all memory.

pytest tests/system/test_hostile_archives.py
TAGGER_ARCHIVES=100 pytest tests/system/test_hostile_archives.py -k budget    # of each kind
"""

import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tarfile

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive

from tests.conftest import ROOT
from tests.kinds import train
from tests.system.archives import (
    CONFIGS,
    MEMBERS,
    SIZES,
    TRACE,
    carried,
    place_bait,
    write_archive,
)
from tests.system.generated_archives import KINDS, read_members
from tests.system.load_budget import MAX_MEGABYTES, MAX_SECONDS

pytestmark = pytest.mark.system


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "current"
    path.mkdir()
    monkeypatch.chdir(path)
    monkeypatch.syspath_prepend(str(path))
    place_bait(path)
    return path


@pytest.fixture
def good(trained):
    return trained / "model.tar.gz"


def is_refused(path, why="."):
    """Whether an archive is refused in one line, for such a reason."""
    try:
        load_archive(path)
    except ConfigurationError as error:
        return len(str(error).splitlines()) == 1 and re.search(why, str(error)) is not None
    return False


@pytest.mark.parametrize("title", SIZES)
def test_what_takes_all_memory_is_refused_before_it_does(title, good, folder):
    write_archive(good, folder / "hostile.tar.gz", SIZES[title])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert is_refused(folder / "hostile.tar.gz")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # In kilobytes; a header may fill the limit once, and be joined once.
    assert grown < 700_000


def test_two_hundred_mixed_attacks_leave_no_trace(good, folder):
    draw = random.Random(0)
    shutil.copy(good, folder / "good.tar.gz")
    parents = ("fine_tuned", "transformers")
    for _ in range(200):
        member = MEMBERS[draw.choice(list(MEMBERS))] if draw.random() < 0.3 else None
        if member is None and draw.random() < 0.5:
            member = carried(f"{draw.choice(parents)}/name", draw.random() < 0.5)
        config = CONFIGS[draw.choice(list(CONFIGS))]
        write_archive(good, folder / "hostile.tar.gz", member, config)
        assert is_refused(folder / "hostile.tar.gz")
        assert not list(folder.parent.rglob(TRACE))


def test_bytes_changed_at_random_are_noticed(good, folder):
    draw = random.Random(0)
    content = good.read_bytes()
    tried = folder / "changed.tar.gz"
    for _ in range(100):
        changed = bytearray(content)
        # After the header of gzip, which names a time and a file.
        changed[draw.randrange(200, len(content) - 8)] ^= 1 << draw.randrange(8)
        tried.write_bytes(changed)
        assert is_refused(tried)


def test_each_change_of_a_member_is_noticed(good, folder):
    draw = random.Random(0)
    with tarfile.open(good) as archive:
        names = [each.name for each in archive if each.isfile() and each.name != "meta.json"]
    for _ in range(100):
        chosen = draw.choice(names)

        def change(name, content, chosen=chosen):
            if name != chosen or not content:
                return content
            changed = bytearray(content)
            changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            return bytes(changed)

        write_archive(good, folder / "t.tar.gz", contents=change, with_new_checksums=False)
        with tarfile.open(good) as old, tarfile.open(folder / "t.tar.gz") as new:
            is_same = old.extractfile(chosen).read() == new.extractfile(chosen).read()
        assert is_same or is_refused(folder / "t.tar.gz")


@pytest.fixture(scope="module")
def good_archives(trained, tmp_path_factory):
    """Archives of three kinds, one with a fine-tuned and one with a frozen transformer."""
    found = {"toy": trained / "model.tar.gz"}
    for kind in ("fine-tuned", "frozen"):
        found[kind] = train(kind, tmp_path_factory.mktemp(kind))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_below_a_megabyte_keeps_to_its_budget(kind, good_archives, tmp_path):
    members = {name: read_members(path) for name, path in good_archives.items()}
    for name, path in good_archives.items():
        shutil.copy(path, tmp_path / f"good-{name}.tar.gz")
    for number in range(int(os.environ.get("TAGGER_ARCHIVES", "3"))):
        content = KINDS[kind](random.Random(f"{kind}{number}"), members)
        if len(content) < 2**20:
            (tmp_path / f"{number}.tar.gz").write_bytes(content)
    command = [sys.executable, "-m", "tests.system.load_budget", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    for row in map(json.loads, done.stdout.splitlines()):
        assert row["end"] in ("loaded", "refused"), row
        assert row["end"] == "loaded" or not row["name"].startswith("good"), row
        assert row["seconds"] < MAX_SECONDS, row
        assert row["megabytes"] < MAX_MEGABYTES, row
        assert len(row["message"]) < 1000, row
        assert row["message"].isprintable(), row
