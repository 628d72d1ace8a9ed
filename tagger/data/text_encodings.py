"""Decodes files, whatever their encoding, with errors that name the line."""

import codecs
import io
from contextlib import contextmanager
from os import PathLike
from typing import BinaryIO, Iterable, Iterator, Optional, Tuple, Union

from tagger.common.inputs import PathOrAddress, open_input

#: Byte order marks; UTF-32 comes first because its mark begins like that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_GZIP = b"\x1f\x8b"
#: The beginning of a pointer of Git LFS.
_GIT_LFS = b"version https://git-lfs"
#: Remedies by the first bytes of a file.
_REMEDIES = {
    codecs.BOM_UTF16_LE: "it looks like UTF-16: convert it with `iconv -f utf-16 -t utf-8`",
    codecs.BOM_UTF16_BE: "it looks like UTF-16: convert it with `iconv -f utf-16 -t utf-8`",
    _GZIP: "it is compressed: unpack it with `gunzip`",
}
#: In UTF-16, every second byte of Latin letters is 0; other text has no zero bytes.
_LEAST_SHARE_OF_ZEROS = 0.2
#: The number of bytes to examine.
_HEAD = 1 << 25


@contextmanager
def open_text(
    path: PathOrAddress, text_encoding: Optional[str] = None
) -> Iterator[Tuple[BinaryIO, str]]:
    """Opens an input as UTF-8, whatever its encoding, and returns the name of that encoding.

    Files in other encodings than UTF-8 are read at once. See `open_input` and `decode` for arguments.
    A pointer of Git LFS is a `ValueError`.
    """
    with open_input(path) as stored:
        file = stored if stored.seekable() else io.BytesIO(stored.read())
        head = file.read(_HEAD)
        check_no_pointer(head, path)
        found = _guess(head) if text_encoding is None else _known(text_encoding)
        file.seek(0)
        if found != "utf-8":
            file = io.BytesIO(decode(file.read(), path, found)[0].encode())
        yield file, found


def check_no_pointer(content: bytes, path: PathOrAddress) -> None:
    """Raises an error if a file begins like a pointer of Git LFS."""
    if content.startswith(_GIT_LFS):
        raise ValueError(
            f"{path}: a pointer of Git LFS stands in for the file; fetch it with `git lfs pull`"
        )


def decode(
    content: bytes, name: Union[str, PathLike], text_encoding: Optional[str] = None
) -> Tuple[str, str]:
    r"""Returns the text of a file, without a byte order mark, and the name of its encoding.

    UTF-8, UTF-16 and encodings with a byte order mark are recognised. Anything else is assumed to be
    Windows-1252, which has all printable characters of Latin-1. No program can tell it from other
    single-byte encodings, but `text_encoding` can name any that Python knows.

    Example:
        >>> decode("Zoë B-PER".encode("utf-16"), "demo.txt")
        ('Zoë B-PER', 'utf-16')
        >>> decode(b"Zo\xeb B-PER", "demo.txt")
        ('Zoë B-PER', 'cp1252')
    """
    text_encoding = _guess(content) if text_encoding is None else _known(text_encoding)
    if text_encoding == "utf-8":
        # The errors of `decoded_lines` name the line and the remedy.
        for _ in decoded_lines([content], name):
            pass
    try:
        text = content.decode(text_encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{name}:{line}: expected {text_encoding}, got byte 0x{content[error.start]:02x} "
            f"({error.reason}); name another encoding by `--text-encoding`"
        ) from None
    return text.removeprefix("\ufeff"), text_encoding


def decoded_lines(lines: Iterable[bytes], name: Union[str, PathLike]) -> Iterator[Tuple[int, str]]:
    r"""Yields each line's number, from 1, and the line without its end.

    Byte order marks are skipped, even inside a text, where joining files leaves them. Lines may end with
    a line feed, a carriage return, or both. Errors start with `name:line`.

    Example:
        >>> list(decoded_lines([b"\xef\xbb\xbfAda\r\n", b"left"], "demo.txt"))
        [(1, 'Ada'), (2, 'left')]
    """
    separate = (line for chunk in lines for line in chunk.splitlines() or [b""])
    for number, line in enumerate(separate, start=1):
        try:
            yield number, line.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            remedies = [text for start, text in _REMEDIES.items() if line.startswith(start)]
            latin1 = "convert the file, if it is Latin-1 with `iconv -f latin1 -t utf-8`"
            remedy = remedies[0] if number == 1 and remedies else latin1
            raise ValueError(
                f"{name}:{number}: expected UTF-8, got byte 0x{line[error.start]:02x} in {line[:80]!r}; "
                f"{remedy}"
            ) from None


def _known(text_encoding: str) -> str:
    """Returns Python's name for an encoding; UTF-8 for everything that is read as UTF-8."""
    try:
        "a".encode(text_encoding)  # some codecs of Python spell no text
    except LookupError:
        raise ValueError(
            f"`--text-encoding` is {text_encoding!r}, which is no encoding that Python knows; try "
            f"utf-8, utf-16, cp1252 or another of its standard encodings"
        ) from None
    name = codecs.lookup(text_encoding).name
    return "utf-8" if name in ("ascii", "utf-8-sig") else name


def _guess(content: bytes) -> str:
    for mark, text_encoding in _MARKS.items():
        if content.startswith(mark):
            return text_encoding
    is_ascii = content.isascii() and b"\0" not in content
    if is_ascii or content.startswith(_GZIP):  # decoding gzip as UTF-8 fails with the remedy
        return "utf-8"
    for start, text_encoding in enumerate(("utf-16-be", "utf-16-le")):
        zeros = content[start::2]
        if zeros and zeros.count(0) / len(zeros) > _LEAST_SHARE_OF_ZEROS:
            return text_encoding
    lines = [line for line in content.split(b"\n") if not line.isascii()]
    # UTF-8 text may have a broken line, but Latin-1 text hardly ever has a line that is valid UTF-8.
    if 2 * sum(_is_spelled(line, "utf-8") for line in lines) >= len(lines):
        return "utf-8"
    return "cp1252" if _is_spelled(content, "cp1252") else "latin-1"


def _is_spelled(content: bytes, text_encoding: str) -> bool:
    try:
        content.decode(text_encoding)
    except UnicodeDecodeError:
        return False
    return True
