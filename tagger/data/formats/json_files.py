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
            for number, record in enumerate(parsed_json(text, str(path)), start=1):
                yield f"{path}, {noun} {number}", record
            return
        for number, line in decoded_lines(file, path):
            if line.strip():
                place = f"{path}:{number}"
                yield place, parsed_json(line, place)


def parsed_json(text: str, place: str) -> Any:
    """Reads a value of JSON that can be written as UTF-8.

    Raises:
        ValueError: If it is none, or a string has half of a surrogate pair; the message has the place.
    """
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise ValueError(f"{place}: {half} is half of a surrogate pair; correct the text") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: expected JSON, got {text[:60]!r} ({error})") from None
    return value


def write_lines(path: Path, records: Iterable[Any]) -> None:
    """Writes one JSON object on each line of a new file.

    Raises:
        FileExistsError: If the file exists.
    """
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            # Parquet has times and bytes too.
            file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
