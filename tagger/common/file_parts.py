"""Files cut into parts of whole lines, and folders of what was predicted for each part.

Workers on several machines can take a part each. This imports nothing that loads slowly.
"""

import contextlib
import hashlib
import io
import json
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from tagger.common.files import write_atomically


class Part(NamedTuple):
    """A range of lines of an input file."""

    file: str
    input: str
    start: int
    end: int
    first_line: int
    num_inputs: int
    sha256: str


class OutputFolder:
    """The files of predictions, and which of them are finished.

    While a run is unfinished, `progress.jsonl` has a line for the run, and one for each finished part.
    At the end `manifest.json` replaces it.

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

        Returns:
            The number of inputs that were skipped.
        """
        num_errors: int = sum(numbers["num_errors"] for numbers in parts.values())
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
        with write_atomically(self._manifest, overwrite=True) as unfinished:
            unfinished.write_text(json.dumps(manifest, indent=1))
        self._progress.unlink()
        return num_errors

    def _append(self, entry: Dict[str, Any]) -> None:
        # The line break in front ends a line that a killed run has not written whole.
        with open(self._progress, "ab") as file:
            file.write(b"\n" + json.dumps(entry).encode() + b"\n")


def cut(files: Sequence[str], num_inputs: int) -> List[Part]:
    """Cuts files into parts of `num_inputs` whole lines; the last part of a file may have fewer."""
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


def inputs_of(part: Part) -> Iterator[Tuple[int, str]]:
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


def files_of(inputs: Sequence[str]) -> List[str]:
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


def _json_lines(path: Path) -> List[Dict[str, Any]]:
    """Reads the objects of a file, if it exists, without lines that were not written whole."""
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found
