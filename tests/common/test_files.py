import errno
import os

import pytest

from tagger.common import files
from tagger.common.files import write_atomically


def test_a_file_is_replaced_as_a_whole_and_only_on_demand(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("mine")
    with pytest.raises(FileExistsError), write_atomically(path) as new:
        new.write_text("new")
    assert path.read_text() == "mine"
    with write_atomically(path, overwrite=True) as new:
        assert new.parent == tmp_path
        new.write_text("half")
        assert path.read_text() == "mine"
        new.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_nothing_behind(tmp_path):
    def write_half(path):
        with write_atomically(path) as new:
            new.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError), write_atomically(tmp_path / "pipe", overwrite=True):
        pass
    assert [path.name for path in tmp_path.iterdir() if path.is_fifo()] == ["pipe"]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    def write_together(path):
        with write_atomically(path) as new:
            new.write_text("new")
            path.write_text("mine")

    with pytest.raises(FileExistsError):
        write_together(tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "mine"


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "out.txt"
    link.symlink_to(tmp_path / "disk" / "target.txt")
    with write_atomically(link) as new:
        new.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "disk" / "target.txt").read_text() == "new"


def test_file_systems_without_links_will_do(tmp_path, monkeypatch):
    def refuse(*paths):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(files.os, "link", refuse)
    path = tmp_path / "out.txt"
    with write_atomically(path) as new:
        new.write_text("new")
    assert path.read_text() == "new"
    with pytest.raises(FileExistsError), write_atomically(path) as new:
        new.write_text("newer")
    assert path.read_text() == "new"


def test_long_names_and_the_users_permissions_are_kept(tmp_path):
    path = tmp_path / ("é" * 127)
    before = os.umask(0o027)
    try:
        with write_atomically(path) as new:
            new.write_text("new")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
