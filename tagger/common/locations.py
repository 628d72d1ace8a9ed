"""Compares the locations of inputs and outputs, however they are spelled, and checks outputs."""

import errno
import os
import re
import stat
from pathlib import Path
from typing import Iterable, Iterator, Optional, Sequence, Tuple, Union
from urllib.parse import unquote

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.outputs import store_of

#: The longest name of an output: most file systems take 255 bytes, and hidden files add a few.
MOST_NAME_BYTES = 240

#: The fsspec file systems that are read-only or can be written only as a whole.
_READ_ONLY = {
    *("data", "gist", "git", "github", "http", "https", "libarchive", "reference", "tar", "zip"),
}
#: Other names of stores, and stores with case-sensitive names; for others we cannot know.
_SAME_STORE = {"s3a": "s3", "gcs": "gs", "http": "https"}
_CASE_MATTERS = {"gs", "hf", "https", "oss", "s3"}
#: An address, or what `pathlib.Path` makes of one.
_ADDRESS = re.compile(r"[a-z][a-z0-9+._-]+:/{1,3}[^/]|file:|local:")
#: The files that are read from a run's folder when it is given as an archive.
_OF_RUN = re.compile(
    r"((config|meta|metrics(_epoch_\d+)?)\.json|.*\.(th|gz|safetensors))$"
    r"|(vocabulary|fine_tuned|transformers)/"
)

#: A local file, or the kind of a store and a name in it.
_Place = Union[Path, Tuple[str, str]]


def resolved(path: PathOrAddress) -> PathOrAddress:
    """Turns the address of a local file into its path; returns anything else unchanged.

    Example:
        >>> resolved("file:///tmp/a.txt"), resolved("s3://bucket/a.txt")
        ('/tmp/a.txt', 's3://bucket/a.txt')
    """
    name = os.fspath(path)
    if not name.startswith(("file:", "local:")) or "::" in name:
        return path
    return str(store_of(name)[1]) + "/" * name.endswith("/")


def overwritten_input(
    output: PathOrAddress, inputs: Iterable[PathOrAddress]
) -> Optional[PathOrAddress]:
    """Returns the input that an output would overwrite, if any.

    An input folder stands for all its files; a run's folder only for those that an archive has.
    """
    of_output = list(_places(output))
    for each in inputs:
        if any(_replaces(one, other) for other in _places(each) for one in of_output):
            return each
    return None


def check_not_inputs(
    outputs: Iterable[PathOrAddress], inputs: Sequence[PathOrAddress], option: str = "--output"
) -> None:
    """Rejects outputs that are also inputs."""
    for output in outputs:
        found = overwritten_input(output, inputs)
        if found is not None:
            named = "" if str(found) == str(output) else f", {os.fspath(found)}"
            raise ConfigurationError(
                f"`{option}` {os.fspath(output)} is also an input{named}; give another name"
            )


def check_may_be_removed(folder: Path, inputs: Iterable[PathOrAddress]) -> None:
    """Rejects a folder that may be deleted but contains an input."""
    for each in inputs:
        for place in _places(each):
            if isinstance(place, Path) and place.exists() and place.is_relative_to(_real(folder)):
                raise ConfigurationError(
                    f"{os.fspath(folder)} would be replaced, but {os.fspath(each)} in it is an input; "
                    f"name another folder"
                )


def check_output(
    output: PathOrAddress,
    inputs: Sequence[PathOrAddress],
    overwrite: Optional[bool] = None,
    option: str = "--output",
    takes_addresses: bool = False,
) -> None:
    """Raises a `ConfigurationError` if an output cannot be written; call it before any work is done.

    Args:
        output: A file, or a folder if it ends with a slash.
        inputs: The command's inputs, which the output must not overwrite.
        overwrite: Whether an existing file may be replaced; None if the command has no `--force`.
        option: The option that names the output, for messages.
        takes_addresses: Whether the output may be an address.
    """
    check_not_inputs([output], inputs, option)
    name = os.fspath(resolved(output) if takes_addresses else output)
    if _ADDRESS.match(name) and not (takes_addresses or Path(name).parent.is_dir()):
        problem = "is an address, but the command writes local files; give a path"
    elif is_address(name):
        problem = _problem_of_address(name, overwrite)
    elif name.endswith("/"):
        # The folder is created later; only a run's old outputs in it may be discarded.
        problem = ""
        check_may_be_removed(Path(name), inputs)
    else:
        problem = _problem_of_file(Path(name), overwrite)
    if problem:
        shown = name if len(name) < MOST_NAME_BYTES else f"{name[:40]}..."
        raise ConfigurationError(f"`{option}` {shown} {problem}")


def _problem_of_address(address: str, overwrite: Optional[bool]) -> str:
    protocol = address.partition(":")[0]
    if "::" in address:
        return "is a chain of addresses; name the file itself"
    if protocol == "memory" or protocol in _READ_ONLY:
        reason = (
            "cannot be written" if protocol in _READ_ONLY else "would be gone when the command ends"
        )
        return f"{reason}; name a file, or an address such as s3://bucket/a"
    store, name = store_of(address)
    if not (overwrite or address.endswith("/")) and store.exists(name):
        return "already exists; give another name, or add --force"
    return ""


def _problem_of_file(output: Path, overwrite: Optional[bool]) -> str:
    num_bytes = len(os.fsencode(output.name))
    if num_bytes > MOST_NAME_BYTES:
        return f"has a name of {num_bytes} bytes; give one of at most {MOST_NAME_BYTES}"
    mode, problem = 0, ""
    try:
        mode = output.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "is a link to itself; give another name"
    folder = output.resolve().parent
    if stat.S_ISDIR(mode):
        problem = "is a folder; name a file"
    elif mode and not stat.S_ISREG(mode):
        problem = "is a device or a pipe; name a file"
    elif not folder.is_dir():
        problem = f"cannot be written, because the folder {folder} does not exist; make it first"
    elif not os.access(folder, os.W_OK):
        problem = f"cannot be written, because the folder {folder} is read-only"
    elif mode and not overwrite:
        force = "" if overwrite is None else ", or add --force"
        problem = f"already exists; give another name{force}"
    return problem


def _places(path: PathOrAddress) -> Iterator[_Place]:
    """Yields all places that a path or an address may name, with and without unescaping."""
    for link in os.fspath(path).split("::"):
        # What looks like an address may still be a path.
        yield _real(link)
        if not _ADDRESS.match(link):
            yield _real("/dev/stdin" if link == "-" else os.path.expanduser(link))  # noqa: PTH111
            continue
        for spelt in (link, unquote(link)):
            kind, _, name = spelt.partition(":")
            kind, name = _SAME_STORE.get(kind, kind), name.strip("/")
            if kind in ("file", "local"):
                yield _real(resolved(spelt))
            else:
                yield kind, name if kind in _CASE_MATTERS else name.casefold()


def _real(path: PathOrAddress) -> Path:
    return Path(os.path.realpath(path))


def _replaces(output: _Place, source: _Place) -> bool:
    if not (isinstance(output, Path) and isinstance(source, Path)):
        return output == source
    try:
        if output.samefile(source):
            return True
    except OSError:  # One of them does not exist.
        return output == source
    if not (source.is_dir() and output.is_file() and output.is_relative_to(source)):
        return False
    is_run = any((source / name).is_file() for name in ("meta.json", "model.tar.gz"))
    return not is_run or _OF_RUN.match(output.relative_to(source).as_posix()) is not None
