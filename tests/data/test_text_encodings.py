import codecs
import gzip

import pytest

from tagger.data.formats import read_texts
from tagger.data.text_encodings import decode

TEXT = "Zoë B-PER\nčeká O\n"
LATIN = "Zoë B-PER\nfährt O\n"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("name", ["utf-8", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_is_recognised_with_and_without_a_byte_order_mark(name, mark):
    if name == "utf-32" and mark:
        mark = ""  # Python writes one itself.
    text, found = decode((mark + TEXT).encode(name), "x.txt")
    assert text == TEXT
    assert name.startswith(found)


def test_other_text_is_read_as_windows_1252():
    assert decode(LATIN.encode("latin-1"), "x.txt") == (LATIN, "cp1252")
    assert decode("he said “hi” O\n".encode("cp1252"), "x.txt")[0] == "he said “hi” O\n"
    assert decode(b"\x81 O\n", "x.txt") == ("\x81 O\n", "latin-1")


def test_an_encoding_can_be_named():
    assert decode("Привет O".encode("cp1251"), "x.txt", "windows-1251") == ("Привет O", "cp1251")
    assert decode(b"Ada O", "x.txt", "ascii") == ("Ada O", "utf-8")
    assert decode(codecs.BOM_UTF8 + b"Ada O", "x.txt", "UTF8") == ("Ada O", "utf-8")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        # UTF-8 with one broken line is not mistaken for another encoding.
        (f"{TEXT}Zo".encode() + b"\xeb O\n", None, "x.txt:3: expected UTF-8, got byte 0xeb"),
        (gzip.compress(b"Ada O\n", mtime=0), None, "x.txt:1: .* it is compressed: unpack it"),
        (b"Ada O\n\xff", "utf-8", "x.txt:2: expected UTF-8"),
        (b"Ada O\nZo\x81", "cp1252", "x.txt:2: expected cp1252, got byte 0x81"),
        (b"Ada O", "utf9", "`--text-encoding` is 'utf9', which is no encoding"),
        (b"Ada O", "hex", "`--text-encoding` is 'hex', which is no encoding"),
    ],
)
def test_undecodable_text_is_named(content, name, message):
    with pytest.raises(ValueError, match=message):
        decode(content, "x.txt", name)


@pytest.mark.parametrize(
    "name", ["a.conll", "a.csv", "a.jsonl", "a.parquet", "a.spacy", "a.conllu"]
)
def test_a_pointer_of_git_lfs_is_named_whatever_the_format(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    with pytest.raises(ValueError, match=r"a pointer of Git LFS .* fetch it with `git lfs pull`"):
        list(read_texts(path))
