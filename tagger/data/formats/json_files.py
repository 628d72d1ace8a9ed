"""Files of JSON: one object on each line, or a list of objects."""

import json
from pathlib import Path
from typing import Any, Iterable, Iterator, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress, open_input
from tagger.data.decoded_lines import decoded_lines


def read_records(path: PathOrAddress, noun: str = "record") -> Iterator[Tuple[str, Any]]:
    """Yields the place and the value of each record of a file, from JSON lines or from a list.

    Args:
        path: The file.
        noun: What a record of a list is called, for messages.

    Raises:
        ValueError: If the file or a line is not JSON in UTF-8; the message says where.
    """
    with open_input(path) as file:
        first = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        file.seek(0)
        if first == b"[":
            text = "\n".join(line for _, line in decoded_lines(file, path))
            for number, record in enumerate(_parsed(text, str(path)), start=1):
                yield f"{path}, {noun} {number}", record
            return
        for number, line in decoded_lines(file, path):
            if line.strip():
                place = f"{path}:{number}"
                yield place, _parsed(line, place)


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: expected JSON, got {text[:60]!r} ({error})") from None


def write_lines(path: Path, records: Iterable[Any]) -> None:
    """Writes one JSON object on each line of a new file.

    Raises:
        FileExistsError: If the file exists.
    """
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
