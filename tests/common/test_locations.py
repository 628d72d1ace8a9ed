"""Outputs that are inputs, or cannot be written or kept, are refused before any work is done."""

import os

import pytest

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.locations import check_may_be_removed, check_output, overwritten_input

#: Other spellings of `FOLDER/mine data.txt`.
SPELLINGS = {
    "relative": "mine data.txt",
    "parents": "{folder}/none/../sub/../mine data.txt",
    "slashes": "{folder}//./mine data.txt",
    "symlink": "{folder}/symlink.txt",
    "hard link": "{folder}/hard.txt",
    "through a link to the folder": "{folder}/here/mine data.txt",
    "file": "file://{folder}/mine data.txt",
    "file, relative": "file://mine data.txt",
    "file, one slash": "file:{folder}/mine data.txt",
    "file, escaped": "file://{folder}/mine%20data.txt",
    "file, a link": "file://{folder}/symlink.txt",
    "local": "local://{folder}/mine data.txt",
    "chain": "simplecache::file://{folder}/mine data.txt",
    "standard input": "/dev/stdin",
}
#: Pairs of addresses, and whether both name the same object.
STORES = [
    ("s3://bucket/a/mine.txt", "s3a://bucket/a/mine.txt", True),
    ("s3://bucket/a/mine.txt", "s3://bucket/a/mine.txt/", True),
    ("s3://bucket/a/my data.txt", "s3://bucket/a/my%20data.txt", True),
    ("gs://bucket/mine.txt", "gcs://bucket/mine.txt", True),
    ("abfs://box/mine.txt", "abfs://box/Mine.TXT", True),
    ("s3://bucket/mine.txt", "s3://bucket/Mine.txt", False),
    ("s3://bucket/mine.txt", "gs://bucket/mine.txt", False),
    ("s3://bucket/mine.txt", "s3://bucket/mine.txt.gz", False),
    ("zip://a.txt::mine.zip", "mine.zip", True),
]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """An input file of the user, also opened as standard input, with links to it."""
    path = tmp_path / "mine data.txt"
    path.write_text("Ada left .\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "none").mkdir()
    (tmp_path / "symlink.txt").symlink_to(path)
    (tmp_path / "hard.txt").hardlink_to(path)
    (tmp_path / "here").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.parametrize("spelling", sorted({*SPELLINGS} - {"standard input"}))
def test_an_input_is_recognised_in_every_spelling(spelling, mine):
    spelt = SPELLINGS[spelling].format(folder=mine.parent)
    for output, source in ((spelt, str(mine)), (str(mine), spelt)):
        assert overwritten_input(output, ["other.txt", source]) == source
        with pytest.raises(ConfigurationError, match="is also an input.*; give another name"):
            check_output(output, [source], overwrite=True, takes_addresses=True)
    other = spelt.replace("mine", "other").replace("symlink", "o").replace("hard", "p")
    assert overwritten_input(other, [str(mine)]) is None


@pytest.mark.parametrize(("one", "other", "is_same"), STORES)
def test_remote_objects_are_compared_by_name(one, other, is_same):
    assert (overwritten_input(other, [one]) is not None) == is_same


def test_standard_input_is_recognised_by_its_file(mine, in_forked_process):
    def found():
        os.dup2(os.open(mine, os.O_RDONLY), 0)
        return overwritten_input(mine, ["-"])

    assert in_forked_process(found) == "-"


def test_the_files_of_a_folder_and_the_archive_of_a_run_are_inputs(tmp_path):
    texts, run = tmp_path / "texts", tmp_path / "run"
    for folder, names in ((texts, ["a.txt"]), (run, ["meta.json", "best.th", "mine.jsonl"])):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
    refused = {path.name for path in tmp_path.glob("*/*") if overwritten_input(path, [texts, run])}
    assert refused == {"a.txt", "meta.json", "best.th"}
    check_output(texts / "new.txt", [texts])
    for folder in (f"{tmp_path}/", f"{texts}/"):
        with pytest.raises(ConfigurationError, match="is also an input|in it is an input"):
            check_output(folder, [texts / "a.txt", texts], takes_addresses=True)
    with pytest.raises(ConfigurationError, match="run would be replaced, but .*best.th"):
        check_may_be_removed(run, [texts, run / "best.th"])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("{folder}/" + "a" * 241, "has a name of 241 bytes; .* at most 240"),
        ("{folder}/" + "é" * 121, "has a name of 242 bytes; .* at most 240"),
        ("{folder}/" + "a" * 5000, "has a name of 5000 bytes; .* at most 240"),
        ("memory://a.jsonl", "would be gone when the command ends; name a file, or an address"),
        ("http://localhost/a.jsonl", "cannot be written; name a file, or an address"),
        ("github://o:r@main/a.jsonl", "cannot be written; name a file, or an address"),
        ("simplecache::s3://bucket/a", "is a chain of addresses; name the file itself"),
        ("s4://bucket/a", "cannot be opened"),
    ],
)
def test_unwritable_and_temporary_outputs_are_refused(output, message, tmp_path):
    with pytest.raises(ConfigurationError, match=message):
        check_output(output.format(folder=tmp_path), [], overwrite=True, takes_addresses=True)
    check_output(tmp_path / ("a" * 240), [])


@pytest.mark.parametrize("output", ["s3://bucket/a.npz", "file:///tmp/a.npz"])
def test_urls_are_refused_by_commands_that_only_write_local_files(output):
    with pytest.raises(ConfigurationError, match="is an address, but the command writes local"):
        check_output(output, [])


def test_a_link_to_itself_is_refused(tmp_path):
    loop, folder = tmp_path / "loop", tmp_path / "folder"
    loop.symlink_to(loop)
    folder.symlink_to(folder)
    for output in (loop, folder / "out.jsonl"):
        with pytest.raises(ConfigurationError, match="is a link to itself; give another name"):
            check_output(output, [], overwrite=True)
    (tmp_path / "link").symlink_to(tmp_path / "new")
    check_output(tmp_path / "link", [])
