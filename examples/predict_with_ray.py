"""Predicts files of any size on the CPUs and GPUs of one machine or many, with Ray.

    pip install '.[ray]'
    python examples/predict_with_ray.py model.tar.gz texts/ -o predictions --workers 2

It cuts the files into parts of whole lines. Workers read the parts, predict them and write one file for
each into the output folder. In order of their names these files are what `allennlp predict-file` writes
for the files in order of theirs, and `manifest.json` lists them. If a worker dies, its part goes to
another worker, and a new worker takes its place. If the whole run is killed, repeat the command: it
keeps the finished parts. The archive, the texts and the output must have the same paths on all machines.

The driver imports no model, so only workers need the memory and the time for one.
"""

import argparse
import heapq
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Type

import ray
from ray.exceptions import RayError, RayTaskError
from tqdm import tqdm

from tagger.common.file_parts import OutputFolder, Part, cut, files_of, inputs_of
from tagger.common.files import sha256_of_file, write_atomically

#: A part that this many workers died of ends the run; so do as many deaths in a row while loading.
MAX_DEATHS = 4
#: For how many seconds no worker may be ready before we say again what the cluster lacks.
PATIENCE = 60


class Worker:
    """Holds a model and predicts parts.

    Args:
        archive: The path of the archived model.
        window: How many inputs to sort by length and predict at a time.
        on_error: `"stop"` at a line that cannot be predicted, or `"skip"` it.
        predictor_args: The predictor's arguments.
        uses_gpu: Whether to predict on the GPU that Ray shows to this worker.
    """

    def __init__(
        self,
        archive: str,
        window: int,
        on_error: str,
        predictor_args: Dict[str, Any],
        uses_gpu: bool,
    ) -> None:
        self._archive = archive
        self._uses_gpu = uses_gpu
        self._window = window
        self._on_error = on_error
        self._predictor_args = predictor_args

    def load(self) -> None:
        """Loads the model.

        Raises:
            ValueError: If the archive or an argument of the predictor is wrong.
        """
        from allennlp.common.checks import ConfigurationError
        from allennlp.models import load_archive

        from tagger.commands.command_line import make_predictor
        from tagger.commands.predict_file import FEW_SHAPES

        os.environ.setdefault(*FEW_SHAPES)
        try:
            archive = load_archive(self._archive, cuda_device=0 if self._uses_gpu else -1)
            self._predictor = make_predictor(archive, self._predictor_args)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None

    def predict(self, part: Part, output: str) -> Dict[str, int]:
        """Predicts a part into the output folder; its file appears only when it is complete.

        Returns:
            The file's `num_bytes`, and `num_errors`, the number of inputs that were skipped.

        Raises:
            ValueError: If a line cannot be predicted, or if the input changed after it was cut.
        """
        lines = list(inputs_of(part))
        num_errors = 0
        path = Path(output, part.file)
        with write_atomically(path, overwrite=True) as unfinished, open(unfinished, "wb") as file:
            for start in range(0, len(lines), self._window):
                window = lines[start : start + self._window]
                predictions, num_skipped = self.predict_window(part.input, window)
                file.write(b"".join(predictions))
                num_errors += num_skipped
            num_bytes = file.tell()
        return {"num_bytes": num_bytes, "num_errors": num_errors}

    def predict_window(
        self, path: str, lines: List[Tuple[int, str]]
    ) -> Tuple[Sequence[bytes], int]:
        """Predicts lines of an input file, numbers and texts, as `predict-file` does.

        Returns:
            A line of output for each, and how many inputs were skipped.
        """
        from allennlp.common.checks import ConfigurationError

        from tagger.commands.prediction_inputs import Line, LineInputs

        inputs = LineInputs(self._predictor, path, skips_errors=self._on_error == "skip")
        try:
            return inputs.predict([Line(*each) for each in lines])
        except ConfigurationError as error:
            raise ValueError(str(error)) from None


class Kind(NamedTuple):
    """What a worker asks of the machine that it runs on."""

    num_cpus: float
    num_gpus: float

    def __str__(self) -> str:
        return " and ".join(
            f"{number:g} {unit}{'s' * (number != 1)}"
            for number, unit in ((self.num_cpus, "CPU"), (self.num_gpus, "GPU"))
            if number > 0 or unit == "CPU"
        )


def predict(
    archive: str,
    inputs: Sequence[str],
    output: str,
    num_workers: int = 2,
    num_gpu_workers: int = 0,
    cpus: float = 1,
    window: int = 2048,
    windows_per_part: int = 8,
    on_error: str = "stop",
    predictor_args: Optional[Dict[str, Any]] = None,
    overwrite: bool = False,
    can_grow: bool = True,
    worker: Type[Worker] = Worker,
) -> None:
    """Predicts all lines.

    Args:
        archive: The path of the archived model.
        inputs: Files as for `allennlp predict-file`, or folders of such files.
        output: The folder to write.
        num_workers: The number of workers without a GPU.
        num_gpu_workers: The number of workers with one GPU each.
        cpus: The number of CPUs of each worker.
        window: How many inputs to sort by length and predict at a time.
        windows_per_part: The number of windows in a part.
        on_error: What to do at a line that cannot be predicted: `"stop"`, or `"skip"` it and write an
            object with the `error` and the number of the `line` in its place.
        predictor_args: The predictor's arguments.
        overwrite: Whether to discard what the output folder holds of another run.
        can_grow: Whether machines may join the cluster later.
        worker: The class of the workers.

    Raises:
        ValueError: If the cluster has no room for any worker and cannot grow, a folder is empty, an
            input is compressed, the output belongs to another run, or a line cannot be predicted.
        RuntimeError: If workers die again and again.
    """
    kinds = [Kind(cpus, 1)] * num_gpu_workers + [Kind(cpus, 0)] * num_workers
    _report_lack(kinds, can_grow)
    arguments = predictor_args or {}
    run = {"archive": sha256_of_file(archive), "window": window, "predictor_args": arguments}
    folder = OutputFolder(Path(output), run, overwrite)
    parts = cut(files_of(inputs), window * windows_per_part)
    done = {part: folder.kept(part, on_error) for part in parts}
    missing = [part for part, numbers in done.items() if numbers is None]
    total = sum(part.num_inputs for part in parts)
    num_kept = total - sum(part.num_inputs for part in missing)
    with tqdm(total=total, initial=num_kept, unit=" sentences", disable=None) as progress:
        # More workers than parts would have nothing to do.
        pool = Pool(worker, (archive, window, on_error, arguments), kinds[: len(missing)])
        for part, numbers in pool.predict(missing, str(folder.path)):
            folder.record(part, numbers)
            done[part] = numbers
            progress.update(part.num_inputs)
    num_errors = folder.finish(done)
    print(f"Wrote {output}: {total} predictions in {len(parts)} parts")
    if num_errors > 0:
        print(f'Skipped {num_errors} lines, which have an "error" in the output')


class Pool:
    """Workers that share a queue of parts; whatever dies is replaced.

    Ray could restart a dead worker and repeat its part by itself, but if the machine is gone for good,
    that part would wait for a machine like it while other workers are idle.

    Args:
        worker: The class of the workers.
        arguments: Of a worker, but `uses_gpu`, which depends on its kind.
        kinds: The kind of each worker.
    """

    def __init__(self, worker: Type[Worker], arguments: Any, kinds: Sequence[Kind]) -> None:
        self._actor = ray.remote(worker)
        self._arguments = arguments
        self._kinds = kinds
        # What each worker does now: a part, or None while it loads the model.
        self._tasks: Dict[Any, Tuple[Any, Kind, Optional[Part]]] = {}
        self._idle: List[Tuple[Any, Kind]] = []
        self._deaths: Dict[Optional[Part], int] = {}

    def predict(self, parts: Sequence[Part], output: str) -> Iterator[Tuple[Part, Dict[str, int]]]:
        """Yields parts as they are finished, each with what `Worker.predict` returns for it."""
        # A list in order is a heap.
        queue, num_missing = sorted(parts), len(parts)
        for kind in self._kinds:
            self._load(kind)
        try:
            while num_missing > 0:
                finished, _ = ray.wait(list(self._tasks), timeout=PATIENCE)
                if not finished and all(part is None for _, _, part in self._tasks.values()):
                    _say(
                        f"No worker is ready yet: {_lack(self._kinds) or 'they are loading the model'}"
                    )
                for task in finished:
                    worker, kind, part = self._tasks.pop(task)
                    try:
                        numbers = ray.get(task)
                    except RayTaskError as error:
                        raise error.cause from error
                    except RayError as error:
                        self._count_death(part, error)
                        if part:
                            heapq.heappush(queue, part)
                        ray.kill(worker)
                        self._load(kind)
                        continue
                    self._deaths.pop(None, None)
                    self._idle.append((worker, kind))
                    if part:
                        num_missing -= 1
                        yield part, numbers
                while queue and self._idle:
                    worker, kind = self._idle.pop()
                    part = heapq.heappop(queue)
                    self._tasks[worker.predict.remote(part, output)] = worker, kind, part
        finally:
            for worker in [each[0] for each in (*self._tasks.values(), *self._idle)]:
                ray.kill(worker)

    def _load(self, kind: Kind) -> None:
        actor = self._actor.options(num_cpus=kind.num_cpus, num_gpus=kind.num_gpus)
        # It runs as soon as the cluster has room for it.
        worker = actor.remote(*self._arguments, uses_gpu=kind.num_gpus > 0)
        self._tasks[worker.load.remote()] = worker, kind, None

    def _count_death(self, part: Optional[Part], error: RayError) -> None:
        self._deaths[part] = deaths = self._deaths.get(part, 0) + 1
        doing = (
            f"at {part.file} (line {part.first_line} of {part.input} and after)"
            if part
            else "while it loaded the model"
        )
        if deaths == MAX_DEATHS:
            raise RuntimeError(f"{deaths} workers died {doing}; the last one: {error}") from error
        _say(f"A worker died {doing}; another one takes over")


def _report_lack(kinds: Sequence[Kind], can_grow: bool) -> None:
    """Says what the cluster lacks, or raises an error if no worker will ever run."""
    if not kinds:
        raise ValueError("`--workers` and `--gpu-workers` are both 0; give at least one worker")
    lack = _lack(kinds)
    if lack:
        have = _resources()
        if not can_grow and not any(
            kind.num_cpus <= have.num_cpus and kind.num_gpus <= have.num_gpus for kind in kinds
        ):
            raise ValueError(f"No worker can start: {lack}")
        _say(f"Some workers start later, or never: {lack}")


def _lack(kinds: Sequence[Kind]) -> str:
    """Returns a sentence on what the workers need more than the cluster has; empty if nothing."""
    need = Kind(sum(kind.num_cpus for kind in kinds), sum(kind.num_gpus for kind in kinds))
    have = _resources()
    if need.num_cpus <= have.num_cpus and need.num_gpus <= have.num_gpus:
        return ""
    return f"the workers need {need} in all, and the cluster has {have}"


def _resources() -> Kind:
    resources = ray.cluster_resources()
    return Kind(resources.get("CPU", 0), resources.get("GPU", 0))


def _say(message: str) -> None:
    tqdm.write(message, file=sys.stderr)


def _json_object(text: str) -> Dict[str, Any]:
    parsed = json.loads(text)
    if not isinstance(parsed, dict):
        raise ValueError(text)
    return parsed


def main() -> None:
    """Parses the arguments and predicts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("archive", help="the archived model")
    add("inputs", nargs="+", help="files of texts or JSON lines, or folders of such files")
    add("-o", "--output", required=True, help="the folder to write")
    without, each = "workers without a GPU (default: 2)", "workers with a GPU each (default: 0)"
    add("--workers", dest="num_workers", type=int, default=2, help=without)
    add("--gpu-workers", dest="num_gpu_workers", type=int, default=0, help=each)
    add("--cpus", type=float, default=1, help="how many CPUs each worker has (default: 1)")
    add("--window", type=int, default=2048, help="as for predict-file (default: 2048)")
    add("--windows-per-part", type=int, default=8, help="the size of a part (default: 8)")
    add(
        "--on-error",
        choices=["stop", "skip"],
        default="stop",
        help="what to do at a line that cannot be predicted: stop, or skip it and write an object with "
        "the error in its place (default: stop)",
    )
    add("--predictor-args", type=_json_object, default={}, help="as for predict-file")
    force = "discard what another run has written"
    add("--force", dest="overwrite", action="store_true", help=force)
    options = vars(parser.parse_args())
    try:
        ray.init(address="auto")
    except ConnectionError:  # No cluster is running.
        ray.init()
        options["can_grow"] = False
    try:
        predict(**options)
    except (OSError, RuntimeError, ValueError) as error:
        raise SystemExit(f"predict_with_ray: {error}") from None


if __name__ == "__main__":
    main()
