"""`predict-file --ray`: Ray Data reads the inputs, shares them out to a pool of workers, and writes.

While a run is unfinished, `OUTPUT.unfinished/` holds `run.json`, which says what the run is; in
`checkpoint` which rows are written, by Ray; and in `parts` the predictions, as Parquet. An output that
ends in a slash is a folder, and has the parts itself.

The column `input_row` has the number of the file, from 0, times 2 to the 40, plus that of the input in
the file, from 1. So Ray needs 8 bytes to know a row.
"""

import json
import os
import re
from contextlib import nullcontext
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from allennlp.common.checks import ConfigurationError

from tagger.commands.prediction_inputs import Line, LineInputs
from tagger.commands.prediction_outputs import Encoder, Layout, column_of, encoder_of, write_lines
from tagger.commands.prediction_parts import (
    PREDICTION,
    ROW,
    begin_parts,
    count_rows,
    join_parts,
    remove_folder,
)
from tagger.common.console import say
from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.lock import output_lock
from tagger.common.outputs import new_output, store_of
from tagger.common.parquet import batches, open_parquet
from tagger.predictors.prediction_type import prediction_type

#: The column of inputs in what Ray shares out.
_INPUT = "__input__"
#: How many bits of `input_row` are the number of an input in its file.
_BITS = 40
#: How long a row is that a block has a window of: a short sentence.
_BYTES_PER_INPUT = 64
#: How many windows are written to a part.
_WINDOWS_PER_PART = 8
#: How often a window is tried again if its worker dies.
_RETRIES = 4


class WorkerPool(NamedTuple):
    """The workers of a run.

    Attributes:
        min_size: How many there are at least.
        max_size: How many there are at most; None for as many as the cluster has room for.
        cpus: How many CPUs each has.
        gpus: How many GPUs each has; the model is on the first.
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
    layout: Layout,
    overwrite: bool,
) -> None:
    """Predicts files by Ray Data; the same call completes what a killed one began.

    Args:
        pool: The workers.
        inputs: Those of the first file, with the predictor.
        files: Paths or addresses that all workers can read.
        output: A file; or, with a slash at the end, a folder, to which parts are written.
        window: How many inputs are predicted at a time.
        run: What decides the predictions, by name. Only an equal run can complete the output.
        layout: What inputs and output look like.
        overwrite: Whether to start again what another run has begun.

    Raises:
        ConfigurationError: If an input cannot be predicted; if another run writes the output, or has
            begun it with other settings or inputs; if no worker can ever start.
    """
    target = os.fspath(output)
    is_folder = target.endswith("/")
    column = layout.column if is_folder else None
    encode = _check(inputs, files, target, layout)
    unfinished = f"{target.rstrip('/')}.unfinished"
    parts = target.rstrip("/") if is_folder else f"{unfinished}/parts"
    run = {**run, "input": [[each, _version(each)] for each in files]}
    inputs.remedy = "add --on-error skip, and repeat the command to go on"
    with output_lock(output):
        begin_parts(unfinished, parts, is_folder, run, overwrite)
        # Workers run in the folder in which their cluster was started.
        paths = [each if is_address(each) else str(Path(each).absolute()) for each in files]
        tasks = [
            partial(_tables, inputs.of(path), number, window, is_folder and inputs.unit == "row")
            for number, path in enumerate(paths)
        ]
        _run(tasks, (inputs, files), window, pool, column, parts, unfinished)
        if column:
            store, name = store_of(parts)
            store.pipe_file(f"{name}/_SUCCESS", b"")
            num_lines, num_errors = count_rows(parts, column)
        else:
            with new_output(output, overwrite) as file:
                num_lines, num_errors = join_parts(parts, encode or write_lines, file)
        remove_folder(unfinished)
    say(f"Wrote {target}: {num_lines} predictions")
    if num_errors > 0:
        say(f'Skipped {num_errors} inputs, which have an "error" in the output')


def _check(
    inputs: LineInputs, files: Sequence[str], target: str, layout: Layout
) -> Optional[Encoder]:
    """Checks that an output can take the predictions; returns what writes one that is a file."""
    if not target.endswith("/"):
        if len(files) > 1:
            raise ConfigurationError(
                f"`--output` {target} cannot take the predictions of {len(files)} files; name a folder, "
                f"with a slash at the end"
            )
        return encoder_of(target, files[0], layout)
    if inputs.unit == "row":
        with open_parquet(files[0]) as first:
            taken = [name for name in first.schema_arrow.names if name in (layout.column, ROW)]
        if taken:
            raise ConfigurationError(
                f"{files[0]} has a column `{taken[0]}`, which the output needs; rename it, or give "
                f"another `--column`"
            )
    return None


def _tables(inputs: LineInputs, number: int, window: int, keeps_columns: bool) -> Iterator[Any]:
    """Yields what Ray shares out: tables with the columns `ROW` and `_INPUT`.

    Args:
        inputs: Those of a file.
        number: The number of the file.
        window: The most rows of a table.
        keeps_columns: Whether the tables have the columns of the file, which is Parquet, too.
    """
    import pyarrow as pa

    lines = iter(inputs)
    with open_parquet(inputs.path) if keeps_columns else nullcontext() as file:
        others: Iterator[Any] = batches(file, max_rows=window) if keeps_columns else repeat(None)
        for other in others:
            chunk = list(islice(lines, other.num_rows if other else window))
            if not chunk:
                return
            rows = pa.array([number << _BITS | line.number for line in chunk], pa.int64())
            # Texts of Arrow hold no surrogates, which stand for bytes that are not UTF-8.
            texts = [line.text.encode("utf-8", "surrogatepass") for line in chunk]
            table = pa.table({ROW: rows, _INPUT: pa.array(texts, pa.binary())})
            for name in other.schema.names if other else ():
                table = table.append_column(name, other.column(name))
            yield table


class _Worker:
    """Predicts tables. Ray makes it once in each of its processes.

    Args:
        inputs: Ray's reference to the inputs with the predictor, and to the files.
        column: The name of the predictions' column, which has fields; None for JSON in `PREDICTION`.
        uses_gpu: Whether to predict on the GPU that Ray shows to this process.
    """

    def __init__(self, inputs: Any, column: Optional[str], uses_gpu: bool) -> None:
        import pyarrow as pa
        import ray

        self._inputs, self._files = ray.get(inputs)
        self._column = column or PREDICTION
        self._type = prediction_type() if column else pa.string()
        if uses_gpu:
            self._inputs._predictor._model.cuda(0)

    def __call__(self, table: Any) -> Any:
        numbers, texts = table[ROW].to_pylist(), table[_INPUT].to_pylist()
        lines = [
            Line(
                row & (1 << _BITS) - 1,
                text.decode("utf-8", "surrogatepass"),
                self._files[row >> _BITS],
            )
            for row, text in zip(numbers, texts)
        ]
        found, _ = self._inputs.predict(lines)
        return table.drop_columns(_INPUT).append_column(self._column, column_of(found, self._type))


def _run(
    tasks: Sequence[Callable[[], Iterator[Any]]],
    inputs: Tuple[LineInputs, Sequence[str]],
    window: int,
    pool: WorkerPool,
    column: Optional[str],
    parts: str,
    unfinished: str,
) -> None:
    """Has Ray Data predict the rows that are not yet in the parts."""
    import ray
    from ray.data.block import BlockMetadata
    from ray.data.checkpoint import CheckpointConfig

    class Inputs(ray.data.Datasource):
        """The files, each of which is read by one task."""

        def estimate_inmemory_data_size(self) -> Optional[int]:
            return None

        def get_read_tasks(self, *_: Any, **__: Any) -> List[Any]:
            unknown = BlockMetadata(None, None, None, None)
            return [ray.data.ReadTask(each, unknown) for each in tasks]

    _connect(pool)
    filesystem = _filesystem_of(parts)
    context = ray.data.DataContext.get_current().copy()
    # Ray shares out blocks, joined up to a window.
    context.target_max_block_size = _BYTES_PER_INPUT * window
    context.execution_options.preserve_order = True
    context.checkpoint_config = CheckpointConfig(
        ROW,
        store_of(f"{unfinished}/checkpoint")[1],
        delete_checkpoint_on_success=False,
        override_filesystem=filesystem,
    )
    # Reading and writing take little, and must find room where workers have all CPUs.
    with ray.data.DataContext.current(context):
        read = ray.data.read_datasource(Inputs(), override_num_blocks=len(tasks), num_cpus=0)
        predicted = read.map_batches(
            _Worker,
            fn_constructor_args=[ray.put(inputs), column, pool.gpus > 0],
            batch_size=window,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(min_size=pool.min_size, max_size=pool.max_size),
            num_cpus=pool.cpus,
            num_gpus=pool.gpus,
            ray_remote_args_fn=lambda: {"max_task_retries": _RETRIES},
        )
        try:
            predicted.write_parquet(
                store_of(parts)[1],
                min_rows_per_file=_WINDOWS_PER_PART * window,
                ray_remote_args={"num_cpus": 0},
                filesystem=filesystem,
            )
        except ray.exceptions.RayError as error:
            if said := re.search(r"ConfigurationError: (.*)", str(error)):
                raise ConfigurationError(said[1]) from error
            raise


def _filesystem_of(path: str) -> Any:
    """Returns the file system of an address, for Arrow; None for a path."""
    if not is_address(path):
        return None
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    return PyFileSystem(FSSpecHandler(store_of(path)[0]))


def _connect(pool: WorkerPool) -> None:
    """Joins the cluster that runs here or that `RAY_ADDRESS` names, or starts one on this machine."""
    import ray

    if ray.is_initialized():
        return
    try:
        ray.init("auto", logging_level="ERROR")
        return
    except ConnectionError:
        ray.init(include_dashboard=False, logging_level="ERROR")
    have = ray.cluster_resources()
    for unit, number in (("CPU", pool.cpus), ("GPU", pool.gpus)):
        if pool.min_size * number > have.get(unit, 0):
            raise ConfigurationError(
                f"{pool.min_size} workers with {number:g} {unit}s each need more than this machine's "
                f"{have.get(unit, 0):g}; ask for less by --workers, --cpus and --gpus"
            )


def _version(path: str) -> str:
    """Returns what tells whether a file has changed."""
    store, name = store_of(path)
    if path.startswith("http"):  # Its key is the address.
        return json.dumps(store.info(name), default=str, sort_keys=True)
    return str(store.ukey(name))
