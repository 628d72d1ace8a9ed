"""The files of predictions that `predict-file --ray` writes, and what is made of them at the end."""

import heapq
import json
import re
from itertools import islice
from typing import Any, BinaryIO, Dict, Iterator, List, Tuple

from allennlp.common.checks import ConfigurationError

from tagger.commands.prediction_outputs import Encoder
from tagger.commands.resumable_output import difference
from tagger.common.inputs import is_address
from tagger.common.outputs import new_output, store_of
from tagger.common.parquet import batches, open_parquet

#: The columns of parts: the numbers of rows, which come first, and the predictions.
ROW, PREDICTION = "input_row", "prediction"

#: What the folder of an unfinished run holds.
_OURS = re.compile(r"(run\.json|checkpoint|parts)$|\.run\.json\.")


def begin_parts(
    unfinished: str, parts: str, is_folder: bool, run: Dict[str, Any], overwrite: bool
) -> None:
    """Goes on with an equal run, or begins a new one.

    Raises:
        ConfigurationError: If another run has begun the output, unless `overwrite` is true; if a folder
            has other files.
    """
    store, name = store_of(f"{unfinished}/run.json")
    folder = store._parent(name)
    run = json.loads(json.dumps(run))
    strange = sorted(
        each.rpartition("/")[2]
        for each in (store.ls(folder, detail=False) if store.exists(folder) else ())
        if not _OURS.match(each.rpartition("/")[2])
    )
    if strange:
        raise ConfigurationError(
            f"{unfinished} holds `{strange[0]}`, which no run of `predict-file` has made; move the "
            f"folder away, or give another `--output`"
        )
    if store.exists(name):
        begun = json.loads(store.cat_file(name))
        if begun == run:
            return
        if not overwrite:
            raise ConfigurationError(difference(unfinished, begun, run, "predictions"))
        remove_folder(unfinished)
        if is_folder:
            remove_folder(parts)
    elif is_folder and store_of(parts)[0].find(store_of(parts)[1]):
        raise ConfigurationError(f"`--output` {parts}/ holds files; name another folder")
    store.makedirs(folder, exist_ok=True)
    with new_output(f"{unfinished}/run.json", overwrite=True) as file:
        file.write(json.dumps(run).encode())


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
