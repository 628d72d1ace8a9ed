"""JSON files: one object per line, or a list of objects, by itself or inside an object."""

import itertools
import json
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Optional, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress
from tagger.common.outputs import json_line
from tagger.data.survey.text_encodings import decoded_lines, open_text

#: Keys of an object that may contain the list of all records.
_LISTS = ("annotations", "data", "examples", "records")


def read_records(
    path: PathOrAddress, noun: str = "record", text_encoding: Optional[str] = None
) -> Iterator[Tuple[str, Any]]:
    """Yields the place and value of each record in JSON lines or a list.

    `noun` is the word for a list's records in messages.
    """
    with open_text(path, text_encoding) as (file, _):
        lines = ((f"{path}:{n}", line) for n, line in decoded_lines(file, path) if line.strip())
        head = list(itertools.islice(lines, 2))
        if not head:
            return
        place, line = head[0]
        try:
            value = parsed_json(line, place)
        except ValueError:  # JSON over several lines, or not JSON
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
    """Returns the records of a list, or of an object with nothing else; None for a single record."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or "text" in value or isinstance(value.get("data"), dict):
        return None
    return next((each for key in _LISTS if isinstance(each := value.get(key), list)), None)


def parsed_json(text: str, place: str) -> Any:
    """Reads a JSON value that can be encoded as UTF-8."""
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
            # Records from Parquet may have times and bytes.
            file.write(json_line(record, default=str))
