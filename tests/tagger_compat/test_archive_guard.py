# ruff: noqa: PTH101, PTH102, PTH104, PTH105, PTH106, PTH107, PTH120, PTH211, SIM115
# These functions are what is guarded.
"""The guard of an archive that is being loaded knows every function that takes paths."""

import os
import shutil
import sqlite3

import pytest
from allennlp.common.checks import ConfigurationError

from tagger_compat import archive_guard

#: Each takes a path in the archive's folder and one elsewhere.
ACCESSES = {
    "rename away": os.rename,
    "rename here": lambda inside, outside: os.rename(outside, inside),
    "replace": lambda inside, outside: os.replace(outside, inside),
    "link away": os.link,
    "link here": lambda inside, outside: os.link(outside, inside + "2"),
    "symbolic link away": lambda inside, outside: os.symlink(inside, outside + "2"),
    "symbolic link here": lambda inside, outside: os.symlink(outside, inside + "2"),
    "copy away": shutil.copyfile,
    "copy here": lambda inside, outside: shutil.copyfile(outside, inside),
    "move away": shutil.move,
    "move here": lambda inside, outside: shutil.move(outside, inside),
    "open": lambda inside, outside: open(outside),
    "remove": lambda inside, outside: os.remove(outside),
    "truncate": lambda inside, outside: os.truncate(outside, 0),
    "change the mode": lambda inside, outside: os.chmod(outside, 0o777),
    "make a folder": lambda inside, outside: os.mkdir(outside + "2"),
    "list": lambda inside, outside: os.listdir(os.path.dirname(outside)),
    "scan": lambda inside, outside: os.scandir(os.path.dirname(outside)),
    "remove a folder": lambda inside, outside: os.rmdir(os.path.dirname(outside)),
    "remove a tree": lambda inside, outside: shutil.rmtree(os.path.dirname(outside)),
    "open a database": lambda inside, outside: sqlite3.connect(outside),
}


@pytest.mark.parametrize("access", ACCESSES)
def test_no_call_reaches_a_file_outside_by_either_of_its_paths(access, tmp_path):
    for name in ("archive/file", "elsewhere/file"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(name)
    inside, outside = (str(tmp_path / name / "file") for name in ("archive", "elsewhere"))
    with archive_guard.loading([]) as state:
        state.begin(str(tmp_path / "archive"), set(), set())
        with pytest.raises(ConfigurationError, match="elsewhere"):
            ACCESSES[access](inside, outside)
        state.refusals.clear()
    for name in ("archive/file", "elsewhere/file"):
        assert (tmp_path / name).read_text() == name
    assert len(list(tmp_path.rglob("*"))) == 4
