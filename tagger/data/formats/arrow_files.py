"""Rows of Parquet and Arrow files, and of the folders that `Dataset.save_to_disk` writes."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Tuple

from tagger.common.inputs import PathOrAddress, is_address, open_input
from tagger.common.parquet import import_pyarrow

#: The first bytes of Parquet, and of Arrow's files and streams.
_PARQUET, _FILE, _STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"


def is_arrow(path: PathOrAddress) -> bool:
    """Whether a file's first bytes are those of Parquet or Arrow, or a folder holds Arrow files."""
    if not is_address(path) and Path(path).is_dir():
        return any(Path(path).glob("*.arrow"))
    if not is_address(path) and not Path(path).is_file():
        return False  # looking into a pipe would consume it
    with open_input(path) as file:
        return file.read(6).startswith((_PARQUET, _FILE, _STREAM))


def read_rows(path: PathOrAddress) -> Tuple[Iterator[Tuple[str, Any]], Mapping[str, Any]]:
    """Returns the rows of a file or folder with their places, and the descriptions of their columns.

    The descriptions are the `features` that the library `datasets` keeps in the metadata.
    """
    if is_address(path) or not Path(path).is_dir():
        return _read(path)
    read = [_read(each) for each in sorted(Path(path).glob("*.arrow"))]
    return (row for rows, _ in read for row in rows), read[0][1]


def _read(path: PathOrAddress) -> Tuple[Iterator[Tuple[str, Any]], Dict[str, Any]]:
    pyarrow = import_pyarrow()
    opened = ExitStack()
    try:
        file = opened.enter_context(open_input(path))
        head = file.read(6)
        file.seek(0)
        if head.startswith(_PARQUET):
            table = pyarrow.parquet.ParquetFile(file)
            schema, batches = table.schema_arrow, table.iter_batches()
        elif head.startswith(_FILE):
            reader = pyarrow.ipc.open_file(file)
            numbers = range(reader.num_record_batches)
            schema, batches = reader.schema, map(reader.get_batch, numbers)
        else:
            reader = pyarrow.ipc.open_stream(file)
            schema, batches = reader.schema, iter(reader)
        metadata = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{path}: expected a Parquet file ({error})") from None

    def rows() -> Iterator[Tuple[str, Any]]:
        number = 0
        with opened:
            try:
                for batch in batches:
                    for record in batch.to_pylist():
                        number += 1
                        yield f"{path}, row {number}", record
            except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
                reason = " ".join(str(error).split())
                raise ValueError(f"{path}: damaged behind row {number} ({reason})") from None

    info = dict_in(metadata, "info")
    return rows(), dict_in(info, "features")


def dict_in(value: Any, key: str) -> Dict[str, Any]:
    """Returns the JSON object under a key; {} if there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
