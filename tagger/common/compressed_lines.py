"""The lines of a text that is to be predicted: a file, which may be compressed, or standard input."""

import lzma
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator, Tuple

from tagger.common.from_allennlp import ConfigurationError


def numbered_lines(path: str) -> Iterator[Tuple[int, str]]:
    """Yields the number of each line, from 1, and the line.

    Lines end by a line feed, a carriage return, or both, and come with a line feed. Bytes that are not
    UTF-8 become surrogates.

    Args:
        path: The file, unpacked as its suffix says (.gz, .bz2, .xz); or `-` for standard input.

    Raises:
        ConfigurationError: If the file is a folder, or compressed and cut off or damaged; if standard
            input is closed.
    """
    number = 0
    with _opened(path) as lines:
        try:
            for number, line in enumerate(lines, 1):
                yield number, line
        # A compressed file of another format is an `OSError` without a number.
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ConfigurationError(
                f"{path}:{number + 1}: the compressed file is cut off or damaged here ({error}); copy "
                f"it again"
            ) from error


@contextmanager
def _opened(path: str) -> Iterator[Iterable[str]]:
    from allennlp.common.file_utils import cached_path, open_compressed

    if path == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise ConfigurationError(
                "standard input is closed; pipe the texts into the command, or name a file"
            )
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
        yield sys.stdin
        return
    found = cached_path(path)
    if Path(found).is_dir():
        raise ConfigurationError(f"{path} is a folder; name a file")
    with open_compressed(found, errors="surrogateescape") as lines:
        yield lines
