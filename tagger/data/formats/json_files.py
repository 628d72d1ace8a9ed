"""Files of JSON: one object on each line, or a list of objects, by itself or in an object."""

import itertools
import json
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Optional, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress
from tagger.data.survey.text_encodings import decoded_lines, open_text

#: Keys under which an object may have the list of all records.
_LISTS = ("annotations", "data", "examples", "records")


def read_records(
    path: PathOrAddress, noun: str = "record", text_encoding: Optional[str] = None
) -> Iterator[Tuple[str, Any]]:
    """Yields the place and the value of each record of a file, from JSON lines or from a list.

    Messages call a record of a list by a `noun`.
    """
    with open_text(path, text_encoding) as (file, _):
        lines = ((f"{path}:{n}", line) for n, line in decoded_lines(file, path) if line.strip())
        head = list(itertools.islice(lines, 2))
        if not head:
            return
        place, line = head[0]
        try:
            value = parsed_json(line, place)
        except ValueError:  # it goes on, or is none
            text = "\n".join(line for _, line in itertools.chain(head, lines))
            value = parsed_json(text, str(path) if line.startswith("[") else place)
            head = head[:1]
        records = _listed(value) if len(head) == 1 else None
        if records is not None:
            for number, record in enumerate(records, start=1):
                if record is not None:
                    yield f"{path}, {noun} {number}", record
            return
        yield place, value
        for place, line in itertools.chain(head[1:], lines):
            yield place, parsed_json(line, place)


def _listed(value: Any) -> Optional[List[Any]]:
    """Returns the records of a list, or of an object that has nothing else; None for one record."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or "text" in value or isinstance(value.get("data"), dict):
        return None
    return next((each for key in _LISTS if isinstance(each := value.get(key), list)), None)


def parsed_json(text: str, place: str) -> Any:
    """Reads a value of JSON that can be written as UTF-8."""
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
    """Writes one JSON object on each line of a new file."""
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            # Parquet has times and bytes too.
            file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
