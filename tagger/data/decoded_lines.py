"""Lines of text files, decoded, with errors that say where."""

import codecs
from os import PathLike
from typing import Iterable, Iterator, Tuple, Union

_MARK = "\ufeff"
#: What to do with files that begin like this.
_REMEDIES = {
    codecs.BOM_UTF16_LE: "it looks like UTF-16: convert it with `iconv -f utf-16 -t utf-8`",
    codecs.BOM_UTF16_BE: "it looks like UTF-16: convert it with `iconv -f utf-16 -t utf-8`",
    b"\x1f\x8b": "it is compressed: unpack it with `gunzip`",
}


def decoded_lines(lines: Iterable[bytes], name: Union[str, PathLike]) -> Iterator[Tuple[int, str]]:
    r"""Yields the number of each line of a text, from 1, and the line without its end.

    Byte order marks are skipped, also those that remain inside a text if files are joined. Lines may end
    by a line feed, a carriage return, or both. An error starts with `name:line`.

    Example:
        >>> list(decoded_lines([b"\xef\xbb\xbfAda\r\n", b"left"], "demo.txt"))
        [(1, 'Ada'), (2, 'left')]
    """
    separate = (line for chunk in lines for line in chunk.splitlines() or [b""])
    for number, line in enumerate(separate, start=1):
        try:
            yield number, line.decode("utf-8").removeprefix(_MARK)
        except UnicodeDecodeError as error:
            remedies = [text for start, text in _REMEDIES.items() if line.startswith(start)]
            latin1 = "convert the file, if it is Latin-1 with `iconv -f latin1 -t utf-8`"
            remedy = remedies[0] if number == 1 and remedies else latin1
            raise ValueError(
                f"{name}:{number}: expected UTF-8, got byte 0x{line[error.start]:02x} in {line[:80]!r}; "
                f"{remedy}"
            ) from None
