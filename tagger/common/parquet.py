"""Reads and writes Parquet files a few rows at a time, with pyarrow."""

from contextlib import contextmanager
from typing import Any, Iterator

from tagger.common.inputs import PathOrAddress, bare_suffix, open_stored

#: The most rows per row group that we write, and per batch that we read.
MAX_ROWS = 16384


def is_parquet(path: PathOrAddress) -> bool:
    """Whether a file's suffix is that of Parquet."""
    return bare_suffix(path).lower() == ".parquet"


def import_pyarrow() -> Any:
    """Imports pyarrow with its module `parquet`; if it is missing, says how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from None
    return pyarrow


@contextmanager
def open_parquet(path: PathOrAddress) -> Iterator[Any]:
    """Opens a Parquet file, at any address, as a `pyarrow.parquet.ParquetFile`."""
    pyarrow = import_pyarrow()
    with open_stored(path) as stored:
        try:
            # Without a buffer, a whole row group is read at once.
            file = pyarrow.parquet.ParquetFile(stored, buffer_size=1 << 20)
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{path}: expected a Parquet file ({error})") from None
        with file:
            yield file


def batches(file: Any, *columns: str, max_rows: int = MAX_ROWS) -> Iterator[Any]:
    """Yields record batches of a file's columns, by default all; no batch spans row groups."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(max_rows, row_groups=[group], columns=list(columns) or None)
