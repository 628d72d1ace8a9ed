import errno
import os
from unittest.mock import Mock

import pytest

from tagger.common import files
from tagger.common.files import sha256_of_file, write_atomically
from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.dataset_readers.document import DocumentDatasetReader
from tagger.modules.token_embedders.hash_table import VectorTable
from tagger.tools.start.parts import source_of_labelled_texts
from tagger.tools.start.survey import survey


def write(path, overwrite=False):
    with write_atomically(path, overwrite) as new:
        new.write_text("new")


def test_the_digest_of_a_folder_is_of_its_files_and_their_names(tmp_path):
    digests = set()
    for number, names in enumerate([("a.txt", "b.txt"), ("a.txt", "c.txt"), ("a.txt",)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in names:
            (folder / name).write_text("text")
        digests.add(sha256_of_file(folder))
        os.utime(folder / "a.txt", (1, 1))
        assert sha256_of_file(folder) in digests
    assert len(digests) == 3


def test_a_file_is_replaced_atomically_and_only_on_demand(tmp_path):
    (tmp_path / "disk").mkdir()
    path, link = tmp_path / "disk/out.txt", tmp_path / "link.txt"
    link.symlink_to(path)
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        write(path)
    assert path.read_text() == "mine"
    with write_atomically(link, overwrite=True) as new:
        assert new.parent == path.parent
        new.write_text("half")
        assert path.read_text() == "mine"
        new.write_text("new")
    assert path.read_text() == link.read_text() == "new"
    assert link.is_symlink()
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_replaced_file_keeps_its_permissions_and_its_content_is_never_more_open(mode, tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("mine")
    path.chmod(mode)
    with write_atomically(path, overwrite=True) as new:
        # What others may do
        assert new.stat().st_mode & 0o077 == mode & 0o077
        new.write_text("new")
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_text() == "new"


def test_an_error_a_new_file_or_a_pipe_prevents_the_replacement(tmp_path):
    def write_until(path, end):
        with write_atomically(path) as new:
            new.write_text("half")
            end(path)

    with pytest.raises(ZeroDivisionError):
        write_until(tmp_path / "out.txt", lambda path: 1 / 0)
    assert list(tmp_path.iterdir()) == []
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError):
        write(tmp_path / "pipe", overwrite=True)
    with pytest.raises(FileExistsError):
        write_until(tmp_path / "out.txt", lambda path: path.write_text("mine"))
    assert (tmp_path / "out.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.txt", "pipe"]


def test_file_systems_without_links_are_supported(tmp_path, monkeypatch):
    refused = Mock(side_effect=OSError(errno.EPERM, "no links here"))
    monkeypatch.setattr(files.os, "link", refused)
    path = tmp_path / "out.txt"
    write(path)
    assert path.read_text() == "new"
    with pytest.raises(FileExistsError):
        write(path)


def test_long_names_and_the_users_permissions_are_kept(tmp_path):
    path = tmp_path / ("é" * 127)
    before = os.umask(0o027)
    try:
        write(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "read",
    [
        lambda path: list(ColumnDatasetReader().read(path)),
        lambda path: list(DocumentDatasetReader().read(path)),
        lambda path: VectorTable(2).read(path),
        lambda path: source_of_labelled_texts(path, "labels"),
        lambda path: survey([path]),
    ],
    ids=["column", "document", "vectors", "split of documents", "start"],
)
def test_a_silent_pipe_or_a_folder_is_refused_instead_of_blocking(read, tmp_path):
    # Nothing writes to this pipe, so opening it would block for ever.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe: expected a file, got a pipe or a device"):
        read(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError, match="expected a file, got a folder"):
        read(tmp_path)


def test_shell_pipes_are_read():
    reading, writing = os.pipe()
    with open(writing, "w") as output:
        output.write("Ada PER\n")
    with open(reading):
        (instance,) = ColumnDatasetReader(source_encoding=None).read(f"/dev/fd/{reading}")
    assert [token.text for token in instance["tokens"]] == ["Ada"]
