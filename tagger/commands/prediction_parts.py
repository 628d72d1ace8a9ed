"""The files of an unfinished run of `predict-file`: one for each window of inputs, in a folder.

A part appears whole or not at all. Its name, such as `000000000000000012-2048-0-9c1d`, has the number of
its window, how many lines it has, how many of them stand for an input that was skipped, and a digest of
the inputs. `run.json` says what decides the predictions; only an equal run goes on.
"""

import json
import os
import re
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple

from allennlp.common.checks import ConfigurationError

from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.outputs import new_output, store_of

RUN = "run.json"
_PART = re.compile(r"(\d{18})-(\d+)-(\d+)-([0-9a-f]*)(\.parquet)?")
#: What may lie in the folder of a run, which is removed at its end.
_OURS = re.compile(r"(lock|process\.json|run\.json|\d{18}-.*|\..*\.unfinished)")


class Part(NamedTuple):
    """The file of a window; `num_errors` of its lines stand for an input that was skipped."""

    path: str
    window: int
    num_lines: int
    num_errors: int
    digest: str


def part_name(window: int, num_lines: int, num_errors: int, digest: str = "") -> str:
    """Returns the name of the file of a window."""
    return f"{window:018d}-{num_lines}-{num_errors}-{digest}"


def parts_in(folder: str) -> List[Part]:
    """Returns the parts in a folder, in order of their windows."""
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
    """Goes on with an equal run, or begins a new one; only `overwrite` removes the parts of another.

    `parts` is the folder of the parts, which may be `folder`; `output` is for messages.
    """
    store, name = store_of(folder)
    run = json.loads(json.dumps(run))
    names = [path.rpartition("/")[2] for path in _paths_in(folder)]
    if strange := sorted(each for each in names if not _OURS.fullmatch(each)):
        raise ConfigurationError(
            f"{folder} holds `{strange[0]}`, which no run of `predict-file` has made; move the "
            f"folder away, or give another `--output`"
        )
    written = parts_in(parts)
    if RUN in names:
        begun = json.loads(store.cat_file(f"{name}/{RUN}"))
        if begun == run:
            return
        if written and not overwrite:
            raise ConfigurationError(_difference(output, begun, run, written))
    elif parts != folder and _paths_in(parts):
        raise ConfigurationError(f"`--output` {parts}/ holds files; name another folder")
    # First, so that a run that is killed here leaves no part of another run to this one.
    remove_parts(written)
    store.makedirs(name, exist_ok=True)
    with new_output(f"{folder}/{RUN}", overwrite=True) as file:
        file.write(json.dumps(run).encode())


def remove_parts(parts: Iterable[Part]) -> None:
    """Removes parts."""
    for part in parts:
        store, name = store_of(part.path)
        store.rm_file(name)


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
    """Removes a folder with all that is in it, if it is there."""
    store, name = store_of(folder)
    if store.exists(name):
        store.rm(name, recursive=True)
