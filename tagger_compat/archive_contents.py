"""Limits on an archive's files and config, so that a small archive cannot take much memory.

For weights see `tagger_compat.archive_pickles`, for the tensors that a config requests
`tagger_compat.archive_tensors`.
"""

import json
import os
from typing import Any, Iterable, Iterator, Tuple

from tagger_compat.archive_guard import REMEDY, refuse
from tagger_compat.archive_pickles import check_weights

#: The most bytes in `config.json` and in `meta.json`, the most values, and the deepest nesting.
MAX_JSON, MAX_VALUES, MAX_DEPTH = 2**20, 50_000, 50
#: The most bytes and lines in all files of the vocabulary together.
MAX_VOCABULARY, MAX_WORDS = 2**26, 2_500_000
#: The largest number in a config's model, and the largest minimum length of words.
MAX_NUMBER, MAX_PADDING = 10_000_000, 1000


def read_json(
    path: Any,
    name: str,
    max_bytes: int = MAX_JSON,
    max_values: int = MAX_VALUES,
    check_depth: bool = True,
    remedy: str = REMEDY,
) -> Any:
    """Reads a JSON file of an archive, called `name` in messages; rejects invalid or oversized files.

    The number of values is an estimate that counts separators, even inside strings. `check_depth`
    rejects lists or objects nested more than `MAX_DEPTH` deep.
    """
    size = os.path.getsize(path)
    if size > max_bytes:
        refuse(f"{name} has {size} bytes, more than {max_bytes}", remedy)
    with open(path, "rb") as file:
        content = file.read()
    # Each value except the first in a list follows a comma; each list or object has a bracket.
    num_values = sum(map(content.count, (b",", b"[", b"{")))
    if num_values > max_values:
        refuse(f"{name} has about {num_values} values, more than {max_values}", remedy)
    try:
        value = json.loads(content)
        for _ in leaves(value) if check_depth else ():
            pass
    except (ValueError, RecursionError) as error:
        refuse(f"{name} is not plain JSON ({error})", remedy)
    return value


def leaves(value: Any, key: str = "", depth: int = 0) -> Iterator[Tuple[str, Any]]:
    """Yields the leaves of a JSON value with their places, such as `model.layers.0`.

    Raises:
        RecursionError: If the value is nested too deep.
    """
    if depth > MAX_DEPTH:
        raise RecursionError(f"it nests deeper than {MAX_DEPTH}")
    if isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, f"{key}.{name}" if key else str(name), depth + 1)
    else:
        yield key, value


def check_contents(folder: str, files: Iterable[str], name: Any) -> None:
    """Rejects weights or a vocabulary among an archive's `files` that would grow when read."""
    num_words = num_bytes = 0
    for file in sorted(files):
        path = os.path.join(folder, file)
        if not os.path.isfile(path):  # A broken link.
            continue
        if file.endswith(".th"):
            check_weights(path, f"{name}: the member `{file}`")
        elif file.startswith("vocabulary/"):
            num_bytes += os.path.getsize(path)
            if num_bytes > MAX_VOCABULARY:
                refuse(f"{name}: the vocabulary has more than {MAX_VOCABULARY} bytes")
            num_words += _num_lines(path)
            if num_words > MAX_WORDS:
                refuse(f"{name}: the vocabulary has more than {MAX_WORDS} lines")


def _num_lines(path: str) -> int:
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))


def check_numbers(config: Any) -> None:
    """Rejects an archive's config if it sets an absurdly large number for the model or for tokens."""
    for part in ("model", "dataset_reader", "validation_dataset_reader"):
        for key, value in leaves(config.get(part), part):
            is_padding = key.endswith("min_padding_length")
            limit = MAX_PADDING if is_padding else MAX_NUMBER if part == "model" else None
            if limit is not None and isinstance(value, (int, float)) and value > limit:
                refuse(f"the archive's config sets `{key}` to {value:g}, more than {limit}")
