"""What an archive's files and config may not be like, lest they take all memory, or the terminal.

Compressed weights and tables of words may grow a thousandfold, and a number of a config stand for a list
of any length. `tagger_compat.archive_tensors` is for the tensors that a config asks for.
"""

import json
import os
import re
import zipfile
from typing import Any, Iterable, Iterator, Tuple

from tagger_compat.archive_guard import refuse

#: The most bytes of a text file, and of `config.json`.
MAX_TEXT, MAX_CONFIG = 2**26, 2**22
#: The most lines of all files of the vocabulary together.
MAX_WORDS = 5_000_000
#: The largest whole number in what a config says of the model, and of the least length of a word.
MAX_NUMBER, MAX_PADDING = 10_000_000, 1000

#: What transformers show of a transformer's config when they warn, and what no terminal should get.
_SHOWN = re.compile(r"(fine_tuned|transformers)/.*config\.json")
#: What a transformer's files may name of its own, and of which there may be so many labels.
_NAMING = re.compile(r"(fine_tuned|transformers)/.*/(config|[^/]*\.index)\.json")
MAX_LABELS = 100_000
_CONTROLS = re.compile(rb"\\u00([01][^9ad]|7f|[89])|\xc2[\x80-\x9f]")
_TEXTS = (".json", ".txt")


def check_contents(folder: str, files: Iterable[str], name: Any) -> None:
    """Checks that no file of an archive grows when it is read, and none tells the terminal what to do.

    Args:
        folder: Where the archive is unpacked.
        files: The names of those that are read.
        name: The archive, for messages.

    Raises:
        ConfigurationError: If weights are compressed, a text has too many bytes or lines, or the config
            of a transformer has control characters.
    """
    num_words = 0
    for file in sorted(files):
        path = os.path.join(folder, file)
        if not os.path.isfile(path):  # It is a link to nothing.
            continue
        size = os.path.getsize(path)
        limit = MAX_CONFIG if file == "config.json" else MAX_TEXT
        if file.endswith(_TEXTS) and size > limit:
            refuse(f"{name}: the member `{file}` has {size} bytes, more than {limit}")
        if _SHOWN.fullmatch(file) and _has_controls(path):
            refuse(f"{name}: the member `{file}` has characters that a terminal obeys")
        if _NAMING.fullmatch(file):
            _check_names(path, f"{name}: the member `{file}`")
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as members:
                declared = sum(member.file_size for member in members.infolist())
            # PyTorch stores tensors as they are.
            if declared > size:
                refuse(f"{name}: the member `{file}` is compressed: it grows to {declared} bytes")
        if file.startswith("vocabulary/"):
            num_words += _num_lines(path)
            if num_words > MAX_WORDS:
                refuse(f"{name}: the vocabulary has more than {MAX_WORDS} lines")


def _has_controls(path: str) -> bool:
    with open(path, "rb") as file:
        return _CONTROLS.search(file.read().lower()) is not None


def _check_names(path: str, name: str) -> None:
    """Refuses weights outside of a transformer's folder, code on the hub, and labels without end."""
    try:
        with open(path, encoding="utf-8") as file:
            leaves = list(_leaves(json.load(file), ""))
    except (ValueError, RecursionError):
        return  # Transformers says so.
    for key, value in leaves:
        text = str(value)
        if key.startswith(".weight_map.") and (re.search(r"[/\\]", text) or not text.strip(".")):
            refuse(f"{name} names weights in `{text}`, which lies outside of the archive")
        if "_implementation" in key and "/" in text:
            refuse(f"{name} names code on the hub, `{text}`, which is not run")
        if key.endswith("num_labels") and isinstance(value, (int, float)) and value > MAX_LABELS:
            refuse(f"{name} sets `num_labels` to {text}, more than {MAX_LABELS}")


def _num_lines(path: str) -> int:
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))


def check_numbers(config: Any) -> None:
    """Checks that what an archive says of its model and of tokens names no number beyond all need.

    Args:
        config: The config of the archive.

    Raises:
        ConfigurationError: If it does.
    """
    for key, number in _numbers(config.get("model"), "model"):
        if number > MAX_NUMBER:
            refuse(f"the archive's config sets `{key}` to {number}, more than {MAX_NUMBER}")
    for part in ("dataset_reader", "validation_dataset_reader"):
        for key, number in _numbers(config.get(part), part):
            if key.endswith("min_padding_length") and number > MAX_PADDING:
                refuse(f"the archive's config sets `{key}` to {number}, more than {MAX_PADDING}")


def _numbers(value: Any, key: str) -> Iterator[Tuple[str, int]]:
    yield from ((name, each) for name, each in _leaves(value, key) if isinstance(each, int))


def _leaves(value: Any, key: str) -> Iterator[Tuple[str, Any]]:
    """Yields what a JSON value is made of, with its place, such as `model.layers.0`."""
    if isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, f"{key}.{name}")
    else:
        yield key, value
