"""Inputs may be compressed and may be anywhere that fsspec can read."""

import bz2
import gzip
import lzma
import secrets

import fsspec
import pytest
from backports import zstd

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.inputs import numbered_lines, open_input
from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.formats import read_texts, recognise, write_texts
from tagger.data.reading import Reading
from tagger.data.survey.column_survey import survey_columns
from tests.conftest import ROOT

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
PACK[".zst"] = zstd.compress


@pytest.fixture(params=["here", "memory"])
def put(request, tmp_path):
    """Writes a file on disk or in another store and returns its path or URL."""
    folder = tmp_path if request.param == "here" else f"memory://{secrets.token_hex(4)}"

    def put(name, content):
        with fsspec.open(f"{folder}/{name}", "wb") as file:
            file.write(content)
        return f"{folder}/{name}"

    return put


@pytest.mark.parametrize("suffix", PACK)
def test_compressed_files_are_read_like_plain_ones(suffix, put):
    half = PACK[suffix](b"\xef\xbb\xbfAda\r\n\n"), PACK[suffix](b"left \xff\rOslo")
    lines = list(numbered_lines(put(f"a.txt{suffix}", b"".join(half))))
    expected = ["\ufeffAda\n", "\n", "left \udcff\n", "Oslo"]
    assert lines == list(enumerate(expected, 1))


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_truncated_and_damaged_files_are_named_with_the_line(suffix, put):
    whole = PACK[suffix]("".join(f"Ada met {n * n}.\n" for n in range(9999)).encode())
    middle = len(whole) // 2
    damaged = whole[:middle] + bytes(64) + whole[middle + 64 :]
    for content in (whole[:middle], damaged, b"no such file" * 100, whole[:3]):
        path = put(f"a.txt{suffix}", content)
        with pytest.raises(ConfigurationError, match=rf"{suffix}:\d+: the compressed file is cut"):
            list(numbered_lines(path))
        with (
            pytest.raises(ConfigurationError, match=f"{suffix}: the compressed file is cut off"),
            open_input(path) as file,
        ):
            file.read()


@pytest.mark.parametrize(
    ("format", "suffix"),
    [
        ("doccano", ".jsonl.zst"),
        ("label_studio", ".json.gz"),
        ("huggingface", ".parquet"),
        ("huggingface", ".jsonl.gz"),
        ("spacy", ".spacy"),
        ("csv", ".csv.gz"),
        ("conllu", ".conllu.xz"),
        ("columns", ".txt.gz"),
    ],
)
def test_annotated_texts_are_read_from_any_store(format, suffix, put, tmp_path):
    texts = list(read_texts(ROOT / "data/toy/dev.txt", Reading("columns")))[:5]
    first, *packed = suffix.lstrip(".").split(".")
    plain = tmp_path / f"plain.{first}"
    write_texts(texts, plain, format)
    content = plain.read_bytes()
    path = put(f"a{suffix}", PACK[f".{packed[0]}"](content) if packed else content)
    assert recognise(path) == (None if format == "columns" else format)
    found = list(read_texts(path, Reading(format)))
    assert [each.entities for each in found] == [
        each.entities for each in read_texts(plain, Reading(format))
    ]
    if format == "columns":
        assert len(list(ColumnDatasetReader(source_encoding="BIO").read(path))) == 5


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://nowhere/a.txt", "nowhere/a.txt"),
        ("s4://bucket/a.txt", "cannot be opened .*s4"),
        ("nowhere.txt", "nowhere.txt"),
    ],
)
def test_unreadable_addresses_are_named(address, message):
    with pytest.raises((ConfigurationError, FileNotFoundError), match=message):
        list(numbered_lines(address))


def test_a_changed_file_is_surveyed_again(put):
    for number, text in enumerate((b"Ada B-PER\nleft O\n", b"B-PER Ada\nO left\n")):
        for ending in (b"", b"\n"):
            found = survey_columns(put("train.txt", text + ending))
            assert found.layout.token == number


def test_an_unchanged_file_is_surveyed_once(put):
    path = put("train.txt", b"Ada B-PER\nleft O\n")
    assert survey_columns(path) is survey_columns(path)
