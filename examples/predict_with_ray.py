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
import contextlib
import hashlib
import heapq
import io
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Type

import ray
from ray.exceptions import RayError, RayTaskError
from tqdm import tqdm

#: A part that this many workers died of ends the run; so do as many deaths in a row while loading.
MAX_DEATHS = 4
#: For how many seconds no worker may be ready before we say again what the cluster lacks.
PATIENCE = 60


class Part(NamedTuple):
    """A range of lines of an input file.

    Attributes:
        file: The name of the file of its predictions.
        input: The input file.
        start: The offset of its first byte.
        end: The offset after its last byte.
        first_line: The number of its first line, from 1.
        num_inputs: The number of its lines.
        sha256: The digest of its bytes.
    """

    file: str
    input: str
    start: int
    end: int
    first_line: int
    num_inputs: int
    sha256: str


class Worker:
    """Holds a model and predicts parts.

    Args:
        archive: The path of the archived model.
        uses_gpu: Whether to predict on the GPU that Ray shows to this worker.
        window: How many inputs to sort by length and predict at a time.
        on_error: `"stop"` at a line that cannot be predicted, or `"skip"` it.
        predictor_args: The predictor's arguments.
    """

    def __init__(
        self,
        archive: str,
        uses_gpu: bool,
        window: int,
        on_error: str,
        predictor_args: Dict[str, Any],
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

        from tagger.commands.command_line import load_model, make_predictor
        from tagger.commands.predict_file import FEW_SHAPES

        os.environ.setdefault(*FEW_SHAPES)
        try:
            archive = load_model(self._archive, cuda_device=0 if self._uses_gpu else -1)
            self._predictor = make_predictor(archive, self._predictor_args)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None

    def predict(self, part: Part, output: str) -> Dict[str, int]:
        """Predicts a part; its file appears only when it is complete.

        Args:
            part: The part.
            output: The output folder.

        Returns:
            The file's `num_bytes`, and `num_errors`, the number of inputs that were skipped.

        Raises:
            ValueError: If a line cannot be predicted, or if the input changed after it was cut.
        """
        lines = list(_inputs(part))
        unfinished = Path(output, f".{part.file}.{uuid.uuid4().hex}")
        num_errors = 0
        with open(unfinished, "xb") as file:
            for start in range(0, len(lines), self._window):
                window = lines[start : start + self._window]
                predictions, num_skipped = self.predict_window(part.input, window)
                file.write(b"".join(predictions))
                num_errors += num_skipped
            num_bytes = file.tell()
        unfinished.replace(Path(output, part.file))
        return {"num_bytes": num_bytes, "num_errors": num_errors}

    def predict_window(
        self, path: str, lines: List[Tuple[int, str]]
    ) -> Tuple[Sequence[bytes], int]:
        """Predicts lines as `predict-file` does.

        Args:
            path: The input file.
            lines: Numbers and texts of lines.

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
    run = {
        "archive": _sha256(archive),
        "window": window,
        "predictor_args": predictor_args or {},
    }
    folder = OutputFolder(Path(output), run, overwrite)
    parts = cut(_files(inputs), window * windows_per_part)
    done = {part: folder.kept(part, on_error) for part in parts}
    missing = [part for part, numbers in done.items() if numbers is None]
    actor = ray.remote(worker)

    def start(kind: Kind) -> Any:
        return actor.options(num_cpus=kind.num_cpus, num_gpus=kind.num_gpus).remote(
            archive, kind.num_gpus > 0, window, on_error, predictor_args or {}
        )

    total = sum(part.num_inputs for part in parts)
    num_kept = total - sum(part.num_inputs for part in missing)
    with tqdm(total=total, initial=num_kept, unit=" sentences", disable=None) as progress:
        # More workers than parts would have nothing to do.
        pool = Pool(start, kinds[: len(missing)])
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
        start: Starts a worker of a kind. It runs as soon as the cluster has room for it.
        kinds: The kind of each worker.
    """

    def __init__(self, start: Any, kinds: Sequence[Kind]) -> None:
        self._start = start
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
        worker = self._start(kind)
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


class OutputFolder:
    """The files of predictions, and which of them are finished.

    While a run is unfinished, `progress.jsonl` has a line for the run, and one for each finished part.
    At the end `manifest.json` replaces it.

    Args:
        path: The folder. It is made if it does not exist.
        run: What decides the predictions apart from the inputs, by name.
        overwrite: Whether to discard what the folder holds of another run.

    Raises:
        ValueError: If the folder holds something else than an unfinished, equal run.
    """

    def __init__(self, path: Path, run: Dict[str, Any], overwrite: bool) -> None:
        self.path = path.resolve()
        self._progress = self.path / "progress.jsonl"
        self._manifest = self.path / "manifest.json"
        self._run: Dict[str, Any] = json.loads(json.dumps(run))
        self._recorded: Dict[Part, Dict[str, int]] = {}
        self.path.mkdir(parents=True, exist_ok=True)
        if overwrite:
            self._manifest.unlink(missing_ok=True)
            self._progress.unlink(missing_ok=True)
        elif self._manifest.exists():
            raise ValueError(f"`output` {path} is complete; name another folder, or add --force")
        elif any(self.path.iterdir()) and not self._progress.exists():
            raise ValueError(
                f"`output` {path} holds other files; name another folder, or add --force to write into "
                f"this one"
            )
        begun, *records = _json_lines(self._progress) or [{}]
        different = [name for name in self._run if begun.get(name) != self._run[name]]
        if not begun:
            self._append(self._run)
        elif different:
            raise ValueError(
                f"`output` {path} was begun with another `{'`, `'.join(different)}`; repeat that "
                f"command to complete it, or add --force to start again"
            )
        for record in records:
            part = Part(*(record.pop(name) for name in Part._fields))
            self._recorded[part] = record

    def kept(self, part: Part, on_error: str) -> Optional[Dict[str, int]]:
        """Returns the recorded numbers of a finished part; None if it has to be predicted."""
        numbers = self._recorded.get(part)
        file = self.path / part.file
        if not numbers or not file.exists() or file.stat().st_size != numbers["num_bytes"]:
            return None
        return numbers if on_error == "skip" or numbers["num_errors"] == 0 else None

    def record(self, part: Part, numbers: Dict[str, int]) -> None:
        """Notes that a part is finished."""
        self._append({**part._asdict(), **numbers})

    def finish(self, parts: Dict[Part, Any]) -> int:
        """Writes the manifest, and deletes the files that are not of it.

        Args:
            parts: All parts in their order, each with its numbers.

        Returns:
            The number of inputs that were skipped.
        """
        num_errors = sum(numbers["num_errors"] for numbers in parts.values())
        manifest = {
            "run": self._run,
            "num_inputs": sum(part.num_inputs for part in parts),
            "num_errors": num_errors,
            "parts": [{**part._asdict(), **numbers} for part, numbers in parts.items()],
        }
        files = {part.file for part in parts}
        for file in (*self.path.glob("part-*.jsonl"), *self.path.glob(".part-*.jsonl.*")):
            if file.name not in files:
                file.unlink()
        unfinished = self._manifest.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(manifest, indent=1))
        unfinished.replace(self._manifest)
        self._progress.unlink()
        return num_errors

    def _append(self, entry: Dict[str, Any]) -> None:
        # The line break in front ends a line that a killed run has not written whole.
        with open(self._progress, "ab") as file:
            file.write(b"\n" + json.dumps(entry).encode() + b"\n")


def cut(files: Sequence[str], num_inputs: int) -> List[Part]:
    """Cuts files into parts of whole lines.

    Args:
        files: The files.
        num_inputs: How many lines a part has; the last of a file may have fewer.
    """
    parts = (part for path in files for part in _parts_of(path, num_inputs))
    return [part._replace(file=f"part-{number:06}.jsonl") for number, part in enumerate(parts)]


def _parts_of(path: str, num_inputs: int) -> Iterator[Part]:
    start = end = count = 0
    first_line, digest = 1, hashlib.sha256()
    # Line ends stay as they are, so that the lengths of the lines add up.
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as lines:
        for number, line in enumerate(lines, 1):
            if count == num_inputs:
                yield Part("", path, start, end, first_line, count, digest.hexdigest())
                start, first_line, count, digest = end, number, 0, hashlib.sha256()
            line_bytes = line.encode(errors="surrogateescape")
            end += len(line_bytes)
            digest.update(line_bytes)
            count += 1
    if count > 0:
        yield Part("", path, start, end, first_line, count, digest.hexdigest())


def _inputs(part: Part) -> Iterator[Tuple[int, str]]:
    """Reads the part's lines; yields their numbers and texts."""
    with open(part.input, "rb") as file:
        file.seek(part.start)
        content = file.read(part.end - part.start)
    if hashlib.sha256(content).hexdigest() != part.sha256:
        raise ValueError(
            f"{part.input} has changed since it was cut into parts; repeat the command"
        )
    lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", errors="surrogateescape")
    yield from enumerate(lines, part.first_line)


def _files(inputs: Sequence[str]) -> List[str]:
    """Returns the files, and those of the folders in order of their names, without hidden ones."""
    files: List[Path] = []
    for each in map(Path, inputs):
        if each.is_dir():
            shown = [file for file in each.iterdir() if file.is_file() and file.name[0] != "."]
            if not shown:
                raise ValueError(f"`inputs` names the folder {each}, which has no files")
            files += sorted(shown)
        else:
            files.append(each)
    for file in files:
        if file.suffix in (".gz", ".bz2", ".xz"):
            raise ValueError(
                f"{file} is compressed; unpack it, so that workers can read parts of it"
            )
    return [str(file.resolve()) for file in files]


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


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _json_lines(path: Path) -> List[Dict[str, Any]]:
    """Reads the objects of a file, if it exists, without lines that were not written whole."""
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


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
