"""`predict-file --ray`: Ray Data reads the inputs, and a pool of workers predicts and writes.

Each worker writes the predictions for a window of inputs to a file, so a resumed run only predicts the
windows without a file. While a run is unfinished, `OUTPUT.unfinished/` holds these files and `run.json`,
which identifies the run; see `tagger.commands.resumable_output`. If the output ends in a slash, it is a
folder for these files in Parquet format.

The column `input_row` is the index of the input file, from 0, times 2 to the power of 40, plus the
number of the input in the file, from 1.
"""

import json
import os
import pickle
import re
from contextlib import nullcontext
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set

from allennlp.common.checks import ConfigurationError

from tagger.commands.line_inputs import Line, LineInputs
from tagger.commands.prediction_outputs import RecordLayout, column_of, encoder_of
from tagger.commands.resumable_output import (
    begin_run,
    check_skipped,
    lines_of_parts,
    part_name,
    parts_in,
    remove_folder,
    remove_parts,
)
from tagger.common.console import say
from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.lock import output_lock
from tagger.common.outputs import new_output, store_of
from tagger.common.parquet import batches, is_parquet, open_parquet
from tagger.predictors.prediction_type import prediction_type

#: The column of an output folder that numbers the rows, and the number of bits for rows within a file.
ROW, _BITS = "input_row", 40
#: How many windows a file may have.
_MOST_WINDOWS = 10**12
#: How often a window is retried if its worker dies.
_RETRIES = 4


class WorkerPool(NamedTuple):
    """The workers of a run; if `max_size` is None, as many as the cluster has room for.

    The model is on the first GPU that a worker has.
    """

    min_size: int = 1
    max_size: Optional[int] = None
    cpus: float = 1
    gpus: float = 0

    @classmethod
    def of_range(cls, sizes: str, cpus: float, gpus: float) -> "WorkerPool":
        """Reads `--workers`, such as `2` or `2:1000` or `2:`."""
        found = re.fullmatch(r"([1-9]\d*)(:([1-9]\d*)?)?", sizes)
        if not found or (found[3] and int(found[3]) < int(found[1])):
            raise ConfigurationError(
                f"`--workers` must be a number or a range of numbers such as 2:8; got {sizes}"
            )
        largest = found[3] if found[2] else found[1]
        return cls(int(found[1]), int(largest) if largest else None, cpus, gpus)


def predict_with_ray(
    pool: WorkerPool,
    inputs: LineInputs,
    files: Sequence[str],
    output: PathOrAddress,
    window: int,
    run: Dict[str, Any],
    layout: RecordLayout,
    overwrite: bool,
) -> None:
    """Predicts files with Ray Data; repeating an interrupted call completes its output.

    All workers must be able to read the files and to write the output. See `predict_file.Runner`.
    """
    target = os.fspath(output)
    is_folder = target.endswith("/")
    _check(files, target, layout)
    unfinished = f"{target.rstrip('/')}.unfinished"
    parts = target.rstrip("/") if is_folder else unfinished
    run = {**run, "input": [[each, _version(each)] for each in files]}
    if is_folder:
        run["column"] = layout.column
    inputs.remedy = "add --on-error skip, and repeat the command to go on"
    with output_lock(output):
        begin_run(unfinished, run, parts, target, overwrite)
        if not inputs.skips_errors:
            skipped = [part for part in parts_in(parts) if part.num_errors]
            check_skipped(output, skipped, overwrite)
            remove_parts(skipped)
        # Workers run in the folder where their cluster was started.
        sources = [inputs.of(_absolute(each)) for each in files]
        has_columns = is_folder and is_parquet(files[0])
        done = {part.window for part in parts_in(parts)}
        reading = partial(_windows, sources, window, has_columns, done)
        column = layout.column if is_folder else None
        _run(reading, len(files), pool, (inputs, files, _absolute(parts), column))
        found = parts_in(parts)
        if is_folder:
            store, name = store_of(parts)
            store.pipe_file(f"{name}/_SUCCESS", b"")
        else:
            with new_output(output, overwrite, Path(unfinished)) as file:
                encoder_of(target, files[0], layout)(lines_of_parts(found), file)
        remove_folder(unfinished)
    say(f"Wrote {target}: {sum(part.num_lines for part in found)} predictions")
    num_errors = sum(part.num_errors for part in found)
    if num_errors > 0:
        say(f'Skipped {num_errors} inputs, which have an "error" in the output')


def _check(files: Sequence[str], target: str, layout: RecordLayout) -> None:
    """Checks that the output can hold the predictions."""
    is_folder = target.endswith("/")
    if len(files) > 1 and not is_folder:
        raise ConfigurationError(
            f"`--output` {target} cannot take the predictions of {len(files)} files; name a folder, "
            f"with a slash at the end"
        )
    encoder_of(target, files[0], layout)
    if is_folder and is_parquet(files[0]):
        with open_parquet(files[0]) as first:
            if ROW in first.schema_arrow.names:
                raise ConfigurationError(
                    f"{files[0]} has a column `{ROW}`, which the output needs; rename it"
                )


def _absolute(path: str) -> str:
    return path if is_address(path) else str(Path(path).absolute())


def _windows(
    inputs: Sequence[LineInputs], window: int, has_columns: bool, done: Set[int], files: Any
) -> Iterator[Any]:
    """Yields the unfinished windows of a file, each as a table of one row, which Ray distributes.

    `files` is a table with the index of the file; with `has_columns`, windows keep the file's columns.
    """
    import pyarrow as pa

    (file_number,) = files["file"].to_pylist()
    lines = iter(inputs[file_number])
    with open_parquet(inputs[file_number].path) if has_columns else nullcontext() as rows:
        others: Iterator[Any] = batches(rows, max_rows=window) if has_columns else repeat(None)
        for number, other in enumerate(others, start=file_number * _MOST_WINDOWS):
            chunk = list(islice(lines, other.num_rows if other else window))
            if not chunk:
                return
            if number not in done:
                pickled = pickle.dumps((file_number, number, chunk, other))
                yield pa.table({"window": pa.array([pickled], pa.binary())})


class _Worker:
    """Predicts windows and writes them. Ray makes one in each worker process.

    `task` refers to the inputs with the predictor, the names of files for messages, the output folder,
    and the column of predictions in Parquet, or None for JSON lines.
    """

    def __init__(self, task: Any, uses_gpu: bool) -> None:
        import ray

        self._inputs, self._files, self._folder, self._column = ray.get(task)
        if uses_gpu:
            self._inputs._predictor._model.cuda(0)

    def __call__(self, windows: Any) -> Any:
        import pyarrow as pa

        for pickled in windows["window"].to_pylist():
            file, number, lines, other = pickle.loads(pickled)
            lines = [line._replace(path=self._files[file]) for line in lines]
            found, num_errors = self._inputs.predict(lines)
            path = f"{self._folder}/{part_name(number, len(found), num_errors)}"
            if self._column:
                self._write_table(f"{path}.parquet", other, file, lines, found)
            else:
                with new_output(path, overwrite=True) as part:
                    part.write(b"".join(found))
        return pa.table({"num_windows": [windows.num_rows]})

    def _write_table(
        self, path: str, other: Any, file: int, lines: Sequence[Line], found: List[bytes]
    ) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {ROW: pa.array([file << _BITS | line.number for line in lines], pa.int64())}
        columns.update(zip(other.schema.names, other.columns) if other else ())
        columns[self._column] = column_of(found, prediction_type())
        with new_output(path, overwrite=True) as part:
            pq.write_table(pa.table(columns), part)


def _run(reading: Any, num_files: int, pool: WorkerPool, task: Any) -> None:
    """Reads files with Ray Data, one task for each, and predicts their windows with the workers."""
    import pyarrow as pa
    import ray

    _connect(pool)
    context = ray.data.DataContext.get_current().copy()
    # Makes each window a separate block, and so a separate task.
    context.target_max_block_size = 1
    # Reading needs little CPU, and must be scheduled even when workers occupy all CPUs.
    with ray.data.DataContext.current(context):
        predicted = (
            ray.data.from_arrow([pa.table({"file": [number]}) for number in range(num_files)])
            .map_batches(reading, batch_size=1, batch_format="pyarrow", num_cpus=0)
            .map_batches(
                _Worker,
                fn_constructor_args=[ray.put(task), pool.gpus > 0],
                batch_size=1,
                batch_format="pyarrow",
                compute=ray.data.ActorPoolStrategy(min_size=pool.min_size, max_size=pool.max_size),
                num_cpus=pool.cpus,
                num_gpus=pool.gpus,
                ray_remote_args_fn=lambda: {"max_task_retries": _RETRIES},
            )
        )
        try:
            for _ in predicted.iter_batches(batch_size=None):
                pass
        except ray.exceptions.RayError as error:
            if said := re.search(r"ConfigurationError: (.*)", str(error)):
                raise ConfigurationError(said[1]) from error
            raise


def _connect(pool: WorkerPool) -> None:
    """Joins the cluster running here or named by `RAY_ADDRESS`, or else starts one on this machine."""
    import ray

    if ray.is_initialized():
        return
    try:
        ray.init("auto", logging_level="ERROR")
        return
    except ConnectionError:
        _start_ray()
    have = ray.cluster_resources()
    for unit, number in (("CPU", pool.cpus), ("GPU", pool.gpus)):
        if pool.min_size * number > have.get(unit, 0):
            raise ConfigurationError(
                f"{pool.min_size} workers with {number:g} {unit}s each need more than this machine's "
                f"{have.get(unit, 0):g}; ask for less by --workers, --cpus and --gpus"
            )


def _start_ray() -> None:
    import ray

    try:
        ray.init(include_dashboard=False, logging_level="ERROR")
    except Exception as error:  # Ray has no class for it.
        if "timed out" not in str(error):
            raise
        raise ConfigurationError(
            "Ray did not start within half a minute, perhaps because this machine is busy; repeat the "
            "command, or start Ray before by `ray start --head`"
        ) from error


def _version(path: str) -> str:
    """Returns a string that differs if a file has changed."""
    store, name = store_of(path)
    if path.startswith("http"):  # For these, the address is the key.
        return json.dumps(store.info(name), default=str, sort_keys=True)
    return str(store.ukey(name))
