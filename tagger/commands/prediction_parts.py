"""The files of predictions that `predict-file --ray` writes, and what is made of them at the end."""

import heapq
from itertools import islice
from typing import BinaryIO, Iterator, List, Tuple

from tagger.commands.prediction_outputs import Encoder
from tagger.common.inputs import is_address
from tagger.common.outputs import store_of
from tagger.common.parquet import batches, open_parquet

#: The columns of parts: the numbers of rows, which come first, and the predictions.
ROW, PREDICTION = "input_row", "prediction"


def join_parts(parts: str, encode: Encoder, file: BinaryIO) -> Tuple[int, int]:
    """Writes the predictions of all parts in order; returns how many, and how many are errors."""
    counts = [0, 0]

    def lines() -> Iterator[bytes]:
        before = -1
        for row, line in _in_order(parts):
            if row <= before:
                raise RuntimeError(f"row {row} is in two parts of {parts}")
            before = row
            counts[0] += 1
            counts[1] += line.startswith(b'{"error"')
            yield line

    encode(lines(), file)
    return counts[0], counts[1]


def count_rows(folder: str, column: str) -> Tuple[int, int]:
    """Returns how many rows a folder has, and how many of them an error."""
    from pyarrow import compute, dataset

    store, name = store_of(folder)
    rows = dataset.dataset(name, filesystem=store, format="parquet")
    return rows.count_rows(), rows.count_rows(filter=compute.field(column, "error").is_valid())


def _in_order(parts: str) -> Iterator[Tuple[int, bytes]]:
    """Yields the rows of all parts in order; each part is in order itself."""
    waiting = []
    for path in _files_in(parts):
        with open_parquet(path) as file:
            waiting.append((file.metadata.row_group(0).column(0).statistics.min, path))
    waiting.sort(reverse=True)
    opened: List[Tuple[int, bytes, Iterator[Tuple[int, bytes]]]] = []
    while waiting or opened:
        if waiting and (not opened or waiting[-1][0] < opened[0][0]):
            rows = _rows_of(waiting.pop()[1])
        else:
            row, line, rows = heapq.heappop(opened)
            yield row, line
        for following in islice(rows, 1):
            heapq.heappush(opened, (*following, rows))


def _rows_of(path: str) -> Iterator[Tuple[int, bytes]]:
    with open_parquet(path) as file:
        for batch in batches(file, ROW, PREDICTION):
            lines = batch.column(PREDICTION).cast("binary").to_pylist()
            for row, line in zip(batch.column(ROW).to_pylist(), lines):
                yield row, line + b"\n"


def _files_in(folder: str) -> List[str]:
    store, name = store_of(folder)
    found = store.find(name) if store.exists(name) else []
    return [store.unstrip_protocol(each) if is_address(folder) else each for each in found]


def remove_folder(folder: str) -> None:
    """Removes a folder, if it is there."""
    store, name = store_of(folder)
    if store.exists(name):
        store.rm(name, recursive=True)
