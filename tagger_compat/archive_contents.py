"""Limits on what an archive's files and its config say, so that a small archive takes little memory.

For weights see `tagger_compat.archive_pickles`, for the tensors that a config asks for
`tagger_compat.archive_tensors`, and for transformers `tagger.transformers.carried`.
"""

import json
import os
from typing import Any, Iterable, Iterator, Tuple

from tagger_compat.archive_guard import REMEDY, refuse
from tagger_compat.archive_pickles import check_weights

#: The most bytes of `config.json` and of `meta.json`, the most values in them, and how deep they nest.
MAX_JSON, MAX_VALUES, MAX_DEPTH = 2**20, 50_000, 50
#: The most bytes of all files of the vocabulary together, and the most lines.
MAX_VOCABULARY, MAX_WORDS = 2**26, 2_500_000
#: The largest whole number in what a config says of the model, and of the least length of a word.
MAX_NUMBER, MAX_PADDING = 10_000_000, 1000


def read_json(
    path: Any,
    name: str,
    max_bytes: int = MAX_JSON,
    max_values: int = MAX_VALUES,
    check_depth: bool = True,
    remedy: str = REMEDY,
) -> Any:
    """Reads a JSON file of an archive, which messages call `name`; refuses what is no JSON, or larger.

    The number of values is an estimate, in which those in texts count, too. `check_depth` refuses more
    than `MAX_DEPTH` lists or objects in each other.
    """
    size = os.path.getsize(path)
    if size > max_bytes:
        refuse(f"{name} has {size} bytes, more than {max_bytes}", remedy)
    with open(path, "rb") as file:
        content = file.read()
    # Each value but the first of a list follows a comma; each list or object has a bracket.
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
    """Yields what a JSON value is made of, with its place, such as `model.layers.0`.

    Raises:
        RecursionError: If it nests too deep.
    """
    if depth > MAX_DEPTH:
        raise RecursionError(f"it nests deeper than {MAX_DEPTH}")
    if isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, f"{key}.{name}" if key else str(name), depth + 1)
    else:
        yield key, value


def check_contents(folder: str, files: Iterable[str], name: Any) -> None:
    """Refuses weights or a vocabulary that grow when they are read, among `files` of an archive."""
    num_words = num_bytes = 0
    for file in sorted(files):
        path = os.path.join(folder, file)
        if not os.path.isfile(path):  # It is a link to nothing.
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
    """Refuses the config of an archive in which the model, or tokens, have a number beyond all need."""
    for part in ("model", "dataset_reader", "validation_dataset_reader"):
        for key, value in leaves(config.get(part), part):
            is_padding = key.endswith("min_padding_length")
            limit = MAX_PADDING if is_padding else MAX_NUMBER if part == "model" else None
            if limit is not None and isinstance(value, (int, float)) and value > limit:
                refuse(f"the archive's config sets `{key}` to {value:g}, more than {limit}")
