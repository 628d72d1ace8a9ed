"""The configs of transformers in an archive: they name nothing outside of it, and reach no terminal."""

import json
import os
import re
from typing import Any, Iterable, Iterator, Tuple

from tagger_compat.archive_guard import refuse

#: What transformers show of a transformer's config when they warn, and what no terminal should get.
_SHOWN = re.compile(r"(fine_tuned|transformers)/.*config\.json")
#: What a transformer's files may name of its own.
_NAMING = re.compile(r"(fine_tuned|transformers)/.*/(config|[^/]*\.index)\.json")
_CONTROLS = re.compile(rb"\\u00([01][^9ad]|7f|[89])|\xc2[\x80-\x9f]")


def check_contents(folder: str, files: Iterable[str], name: Any) -> None:
    """Checks the configs of transformers.

    Args:
        folder: Where the archive is unpacked.
        files: The names of those that are read.
        name: The archive, for messages.

    Raises:
        ConfigurationError: If one has control characters, or names weights or code elsewhere.
    """
    for file in sorted(files):
        path = os.path.join(folder, file)
        if not (_SHOWN.fullmatch(file) or _NAMING.fullmatch(file)) or not os.path.isfile(path):
            continue
        with open(path, "rb") as opened:
            content = opened.read()
        if _SHOWN.fullmatch(file) and _CONTROLS.search(content.lower()):
            refuse(f"{name}: the member `{file}` has characters that a terminal obeys")
        if _NAMING.fullmatch(file):
            _check_names(content, f"{name}: the member `{file}`")


def _check_names(content: bytes, name: str) -> None:
    """Refuses weights outside of a transformer's folder, and code on the hub."""
    try:
        leaves = list(_leaves(json.loads(content), ""))
    except (ValueError, RecursionError):
        return  # Transformers says so.
    for key, value in leaves:
        text = str(value)
        if key.startswith(".weight_map.") and (re.search(r"[/\\]", text) or not text.strip(".")):
            refuse(f"{name} names weights in `{text}`, which lies outside of the archive")
        if "_implementation" in key and "/" in text:
            refuse(f"{name} names code on the hub, `{text}`, which is not run")


def _leaves(value: Any, key: str) -> Iterator[Tuple[str, Any]]:
    """Yields what a JSON value is made of, with its place, such as `model.layers.0`."""
    if isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, f"{key}.{name}")
    else:
        yield key, value
