"""Writes outputs: a file or an address such as `s3://bucket/a.gz`, packed, seen whole or not at all."""

import gzip
import os
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath
from typing import Any, BinaryIO, ContextManager, Iterator, Optional, cast

from tagger.common.files import write_atomically
from tagger.common.from_allennlp import ConfigurationError
from tagger.common.inputs import COMPRESSIONS, PathOrAddress, is_address


@contextmanager
def new_output(
    path: PathOrAddress, overwrite: bool = False, folder: Optional[Path] = None
) -> Iterator[BinaryIO]:
    """As `write_atomically`, for addresses too, and packed as the suffix says (.gz, .bz2, .xz, .zst).

    An object store shows an object when the last of its parts has been uploaded. Equal contents give
    equal bytes.
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
    """Returns the file system of an address, by fsspec, and the address's name in it."""
    import fsspec

    try:
        return fsspec.url_to_fs(os.fspath(address))
    except (ImportError, ValueError) as error:
        raise ConfigurationError(f"{address} cannot be opened ({error})") from None


def _packed(file: BinaryIO, path: PathOrAddress) -> ContextManager[BinaryIO]:
    compression = COMPRESSIONS.get(PurePath(os.fspath(path)).suffix)
    packed: Any = nullcontext(file)
    if compression == "gzip":
        # Without the time of day and a name, which would make every run's bytes others.
        packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    elif compression is not None:
        from fsspec.compression import compr

        packed = compr[compression](file, mode="wb")
    return cast(ContextManager[BinaryIO], packed)
