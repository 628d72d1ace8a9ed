"""An output written window by window by one process at a time; a later process can complete it.

Until the output is complete, the windows are kept in the hidden folder `.NAME.predict-file`, beside the
output or, if the output is an address, in the current folder. Each window is a file, a *part*, written
atomically. Its name, such as `000000000000000012-2048-0-9c1d`, gives the window's number, its number of
lines, how many of these stand for a skipped input, and a digest of the inputs. `run.json` records
everything that affects the predictions; only a run with equal settings resumes.
"""

import hashlib
import json
import os
import re
import shutil
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Sequence,
)

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import Archive, Model
from allennlp.predictors import Predictor
from filelock import FileLock, Timeout

from tagger.commands.prediction_outputs import PREDICTIONS, Output, RecordLayout
from tagger.commands.publication import has_only_locks, is_own, publish_together, remove_run
from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.lock import being_written, output_lock, this_process
from tagger.common.outputs import new_output, store_of
from tagger.common.version import __version__

RUN = "run.json"
_PART = re.compile(r"(\d{18})-(\d+)-(\d+)-([0-9a-f]*)(\.parquet)?")
#: The files that belong in the folder of a run, which is removed at the end.
_OURS = re.compile(
    r"(lock|process\.json|run\.json|publication\.json|finished-.*|\d{18}-.*|\..*\.unfinished)"
)


class Part(NamedTuple):
    """The file of a window; `num_errors` of its lines stand for a skipped input."""

    path: str
    window: int
    num_lines: int
    num_errors: int
    digest: str


def part_name(window: int, num_lines: int, num_errors: int, digest: str = "") -> str:
    """Returns a part's file name."""
    return f"{window:018d}-{num_lines}-{num_errors}-{digest}"


def parts_in(folder: str) -> List[Part]:
    """Returns the parts in a folder, ordered by window."""
    parts = []
    for path in _paths_in(folder):
        if name := _PART.fullmatch(path.rpartition("/")[2]):
            window, num_lines, num_errors = map(int, name.group(1, 2, 3))
            parts.append(Part(path, window, num_lines, num_errors, name[4]))
    return sorted(parts, key=lambda part: part.window)


def lines_of_parts(parts: Iterable[Part]) -> Iterator[bytes]:
    """Yields the lines of all parts in order."""
    for part in parts:
        store, name = store_of(part.path)
        with store.open(name, "rb") as file:
            yield from file


def begin_run(
    folder: str, run: Mapping[str, Any], parts: str, output: PathOrAddress, overwrite: bool
) -> None:
    """Resumes a run with equal settings or begins a new one; parts of others go only by `overwrite`.

    `parts` is the folder of the parts, which may be `folder`; `output` appears in messages.
    """
    store, name = store_of(folder)
    run = json.loads(json.dumps(run))
    made = (name, store_of(parts)[1])
    names = [path.rpartition("/")[2] for path in _paths_in(folder)]
    if strange := sorted(each for each in names if not _OURS.fullmatch(each)):
        raise ConfigurationError(
            f"{folder} holds `{strange[0]}`, which `predict-file` did not write; move the "
            f"folder away, or give another `--output`"
        )
    written = parts_in(parts)
    if RUN in names:
        begun = json.loads(store.cat_file(f"{name}/{RUN}"))
        if begun == run:
            _make_folders(store, made)
            return
        if written and not overwrite:
            raise ConfigurationError(_difference(output, begun, run, written))
    elif parts != folder and _paths_in(parts):
        raise ConfigurationError(f"`--output` {parts}/ holds files; name another folder")
    # Remove first: if we are killed here, this run must not inherit parts of another.
    remove_parts(written)
    _make_folders(store, made)
    with new_output(f"{folder}/{RUN}", overwrite=True) as file:
        file.write(json.dumps(run).encode())


def _make_folders(store: Any, names: Iterable[str]) -> None:
    for name in names:
        store.makedirs(name, exist_ok=True)


def remove_parts(parts: Iterable[Part]) -> None:
    """Deletes the files of parts."""
    for part in parts:
        store, name = store_of(part.path)
        store.rm_file(name)


def check_skipped(output: PathOrAddress, parts: Iterable[Part], overwrite: bool) -> None:
    """Refuses to go on without skipped lines unless `overwrite` is true."""
    num_errors = sum(part.num_errors for part in parts)
    if num_errors and not overwrite:
        raise ConfigurationError(
            f"`--output` {os.fspath(output)} was begun by a run that skipped {num_errors} lines; add "
            f"--on-error skip to complete it, or --force to predict these lines again"
        )


def _difference(
    output: PathOrAddress, begun: Dict[str, Any], run: Mapping[str, Any], parts: Iterable[Part]
) -> str:
    names = sorted(name for name in begun.keys() | run.keys() if begun.get(name) != run.get(name))
    return (
        f"`--output` {os.fspath(output)} was begun by a run with another "
        f"{', '.join(f'`{name}`' for name in names)}; repeat that command to complete it, or add "
        f"--force to discard its {sum(part.num_lines for part in parts)} predictions"
    )


def _paths_in(folder: str) -> List[str]:
    store, name = store_of(folder)
    store.invalidate_cache()
    found = store.ls(name, detail=False) if store.exists(name) else []
    return [store.unstrip_protocol(each) if is_address(folder) else each for each in found]


def remove_folder(folder: str) -> None:
    """Removes a folder and its contents, if it exists."""
    store, name = store_of(folder)
    if store.exists(name):
        store.rm(name, recursive=True)


class ResumableOutput:
    """Locks an output for this process; use it as a context manager.

    Args:
        output: The file or address to write.
        run: Everything that affects the lines, by name.
        overwrite: Whether to replace an existing output and the parts of other runs.

    Attributes:
        windows: The parts written so far.
        num_lines: The number of their lines.
        num_errors: How many of these lines stand for a skipped input.
    """

    def __init__(
        self, output: PathOrAddress, run: Mapping[str, Any], overwrite: bool = False
    ) -> None:
        self._output = output
        self._folder = run_folder_of(output)
        self._overwrite = overwrite
        with ExitStack() as locks:
            locks.enter_context(_locked(self._folder, output))
            if is_address(output):
                locks.enter_context(output_lock(output))
            begin_run(str(self._folder), run, str(self._folder), output, overwrite)
            for pattern in (".*.unfinished", "finished-*"):  # A killed run leaves these.
                for left in self._folder.glob(pattern):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
            found = enumerate(parts_in(str(self._folder)))
            self.windows = [part for number, part in found if part.window == number]
            self._count()
            self._locks = locks.pop_all()

    def __enter__(self) -> "ResumableOutput":
        return self

    def __exit__(self, *error: object) -> None:
        self._locks.close()

    def _count(self) -> None:
        self.num_lines = sum(part.num_lines for part in self.windows)
        self.num_errors = sum(part.num_errors for part in self.windows)

    def write(self, lines: Sequence[bytes], num_errors: int, digest: str) -> None:
        """Adds a window of lines with line ends; `digest` covers all inputs up to the window's end."""
        counts = (len(self.windows), len(lines), num_errors, digest)
        path = self._folder / part_name(*counts)
        with write_atomically(path, overwrite=True) as new:
            new.write_bytes(b"".join(lines))
        self.windows.append(Part(str(path), *counts))
        self.num_lines += len(lines)
        self.num_errors += num_errors

    def keep(self, num_windows: int) -> None:
        """Removes all windows after the first `num_windows`."""
        remove_parts(self.windows[num_windows:])
        del self.windows[num_windows:]
        self._count()

    def finish(self, made: Output = PREDICTIONS) -> None:
        """Publishes the outputs, then removes the windows; an error before that keeps them."""
        outputs = [self._output, *([made.sidecar] if made.sidecar else [])]
        finished = [
            self._folder / f"finished-{number}{PurePath(output).suffix}"
            for number, output in enumerate(outputs)
        ]
        with ExitStack() as opened:
            files = [
                opened.enter_context(open_new(path, True, self._folder))
                for path, open_new in zip(finished, (made.open, new_output))
            ]
            made.encode(lines_of_parts(self.windows), *files)
        try:
            # The output itself comes last: it is there only if all are.
            publish_together(self._folder, finished[::-1], outputs[::-1], self._overwrite)
        except FileExistsError as error:
            raise ConfigurationError(
                f"another program has created `--output` {error} meanwhile; move it away and "
                f"repeat the command, which keeps the predictions made so far"
            ) from None
        remove_run(self._folder)


def is_left_by_killed_run(output: PathOrAddress, one: PathOrAddress) -> bool:
    """Whether `one` of the files of an output was published by a run that was killed after that.

    Removes the locks that such a run has left, if nothing else is left of it.
    """
    folder = run_folder_of(output)
    if has_only_locks(folder):
        with _locked(folder, output):
            remove_run(folder)
    return is_own(folder, one)


def run_folder_of(output: PathOrAddress) -> Path:
    """Returns the folder of an output's windows; its name is unique to the output's address."""
    path = Path(output).resolve()
    if is_address(output):
        digest = hashlib.sha256(os.fspath(output).encode()).hexdigest()[:16]
        path = Path(f"{digest}-{path.name[:200]}").resolve()
    return path.with_name(f".{path.name}.predict-file")


@contextmanager
def _locked(folder: Path, output: PathOrAddress) -> Iterator[None]:
    """Holds a lock on a folder; the system releases it when this process ends."""
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError:
        raise ConfigurationError(
            f"{folder} was not made by `predict-file`, which needs this name; move the file away, or "
            f"give another `--output`"
        ) from None
    lock, holder = FileLock(folder / "lock", timeout=0), folder / "process.json"
    try:
        lock.acquire()
    except Timeout:
        note = {}
        with suppress(OSError, ValueError):  # The holder may be writing it right now.
            note = json.loads(holder.read_text(encoding="utf-8"))
        raise ConfigurationError(being_written(output, note)) from None
    try:
        holder.write_text(json.dumps(this_process()), encoding="utf-8")
        yield
    finally:
        lock.release()


def settings_of_run(
    predictor: Predictor,
    window: int,
    use_dataset_reader: bool,
    layout: RecordLayout,
    others: Mapping[str, Any],
) -> Dict[str, Any]:
    """Returns everything that affects the predictions, by name; `model` is a digest of the weights."""
    return {
        "archive": getattr(predictor._model, "archive_digest", None),
        "model": _digest_of_model(predictor._model),
        "window": window,
        "use-dataset-reader": use_dataset_reader,
        "version": __version__,
        "text-column": layout.text_column,
        **({"input-format": layout.input_format} if layout.input_format else {}),
        **({"keep": list(layout.keep)} if layout.keep else {}),
        **others,
    }


def _digest_of_model(model: Model) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    for module in model.modules():
        # A frozen transformer is not in the state, and possibly not in the archive either.
        digest.update(getattr(module, "transformer_digest", "").encode())
    return digest.hexdigest()


def digest_of_config(archive: Archive) -> str:
    """Returns a digest of the model's and the readers' config, overrides included."""
    config = archive.config.as_dict(quiet=True)
    parts = [config.get(name) for name in ("model", "dataset_reader", "validation_dataset_reader")]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
