"""Writes outputs atomically: files or addresses such as `s3://bucket/a.gz`, compressed."""

import gzip
import json
import os
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Callable, ContextManager, Iterator, Optional, cast

from tagger.common.files import write_atomically
from tagger.common.from_allennlp import ConfigurationError
from tagger.common.inputs import COMPRESSIONS, PathOrAddress, is_address

#: NEL, line separator and paragraph separator.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def json_line(record: Any, default: Optional[Callable[[Any], Any]] = None) -> str:
    """Returns a record as a line of JSON, with its line end.

    Only control characters and line separators (as in `str.splitlines`) are escaped. `default` is as for
    `json.dumps`.
    """
    line = json.dumps(record, ensure_ascii=False, default=default)
    return f"{line.translate(_LINE_ENDS)}\n"


@contextmanager
def new_output(
    path: PathOrAddress, overwrite: bool = False, folder: Optional[Path] = None
) -> Iterator[BinaryIO]:
    """Like `write_atomically`, but also for addresses; the suffix compresses (.gz, .bz2, .xz, .zst).

    Object stores show an object once its last part is uploaded. Equal contents give equal bytes.
    """
    if not is_address(path):
        with (
            write_atomically(Path(path), overwrite, folder) as new,
            new.open("wb") as file,
            _packed(file, path) as packed,
        ):
            yield packed
        return
    store, name = store_of(path)
    if not overwrite and store.exists(name):
        raise FileExistsError(f"{path} already exists")
    with store.transaction, store.open(name, "wb") as file, _packed(file, path) as packed:
        yield packed


def store_of(address: PathOrAddress) -> Any:
    """Returns fsspec's file system for an address, and the address's name in it."""
    import fsspec

    try:
        return fsspec.url_to_fs(os.fspath(address))
    except (ImportError, ValueError) as error:
        raise ConfigurationError(f"{address} cannot be opened ({error})") from None


def _packed(file: BinaryIO, path: PathOrAddress) -> ContextManager[BinaryIO]:
    compression = COMPRESSIONS.get(PurePath(os.fspath(path)).suffix)
    packed: Any = nullcontext(file)
    if compression == "gzip":
        # Leave out time and name, so that equal runs write equal bytes.
        packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    elif compression is not None:
        from fsspec.compression import compr

        packed = compr[compression](file, mode="wb")
    return cast(ContextManager[BinaryIO], packed)
