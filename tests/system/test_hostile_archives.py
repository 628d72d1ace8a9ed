"""Hundreds of archives that try to run, write, read or fetch something, or to take all memory.

pytest tests/system/test_hostile_archives.py
"""

import random
import re
import resource
import shutil
import tarfile

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive

from tests.system.archives import (
    CONFIGS,
    MEMBERS,
    SIZES,
    TRACE,
    carried,
    place_bait,
    write_archive,
)

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
