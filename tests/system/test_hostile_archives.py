"""Hundreds of archives that try to run, write, read or fetch something, or to exhaust the memory.

pytest tests/system/test_hostile_archives.py
TAGGER_ARCHIVES=100 pytest tests/system/test_hostile_archives.py -k budget    # of each kind
"""

import os
import random
import resource
import shutil

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive

from tests.kinds import train
from tests.system.archives import CONFIGS, MEMBERS, SIZES, TRACE, carried, of_file
from tests.system.generated_archives import KINDS, read_members
from tests.system.generated_configs import write_archives
from tests.system.load_budget import check_archives

pytestmark = pytest.mark.system


def is_refused(path):
    """Whether an archive is refused in one line."""
    try:
        load_archive(path)
    except ConfigurationError as error:
        return len(str(error).splitlines()) == 1
    return False


@pytest.mark.parametrize("title", SIZES)
def test_memory_bombs_are_refused_before_they_take_memory(title, changed):
    hostile = changed(SIZES[title])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert is_refused(hostile)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # In kilobytes. A header may fill the limit once and be joined once.
    assert grown < 700_000


def test_two_hundred_mixed_attacks_leave_no_trace(good, changed, baited):
    draw = random.Random(0)
    shutil.copy(good, baited / "good.tar.gz")
    for _ in range(200):
        member = MEMBERS[draw.choice(list(MEMBERS))] if draw.random() < 0.3 else None
        if member is None and draw.random() < 0.5:
            parent = draw.choice(("fine_tuned", "transformers"))
            member = carried(f"{parent}/name", draw.random() < 0.5)
        assert is_refused(changed(member, CONFIGS[draw.choice(list(CONFIGS))]))
        assert not list(baited.parent.rglob(TRACE))


def with_a_flipped_bit(content, draw, first=0, last=None):
    flipped = bytearray(content)
    flipped[draw.randrange(first, last or len(content))] ^= 1 << draw.randrange(8)
    return bytes(flipped)


def test_random_byte_changes_are_detected(good, tmp_path):
    draw, content, tried = random.Random(0), good.read_bytes(), tmp_path / "changed.tar.gz"
    for _ in range(100):
        # Skip the gzip header, which holds a time and a file name.
        tried.write_bytes(with_a_flipped_bit(content, draw, 200, len(content) - 8))
        assert is_refused(tried)


def test_every_change_of_a_member_is_detected(good, changed):
    draw, members = random.Random(0), read_members(good)
    names = [name for name, content in members.items() if content and name != "meta.json"]
    for _ in range(100):
        change = of_file(draw.choice(names), lambda content: with_a_flipped_bit(content, draw))
        tampered = changed(contents=change, with_new_checksums=False)
        assert read_members(tampered) != members
        assert is_refused(tampered)


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
    check_archives(tmp_path)


def test_configs_of_all_components_keep_to_the_budget(trained, tmp_path):
    number = int(os.environ.get("TAGGER_ARCHIVES", "300"))
    write_archives(trained / "model.tar.gz", range(number), tmp_path)
    assert check_archives(tmp_path) > 0.9 * number
