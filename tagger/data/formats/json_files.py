"""Records: JSON objects in a file, one per line, in a list or one after another, or rows of Arrow."""

import itertools
import json
from bisect import bisect_right
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress
from tagger.common.outputs import json_line
from tagger.data.formats.arrow_files import is_arrow, read_rows
from tagger.data.text_encodings import decoded_lines, open_text
from tagger_texts.inputs import InputError, parse_json

#: Keys of an object that may contain the list of all records.
_LISTS = ("annotations", "data", "examples", "records", "documents", "sentences")


def read_records(
    path: PathOrAddress, noun: str = "record", text_encoding: Optional[str] = None
) -> Iterator[Tuple[str, Any]]:
    """Yields the place and value of each record in JSON lines or a list.

    `noun` is the word for a list's records in messages. Parquet and Arrow have a record in each row.
    """
    if is_arrow(path):
        yield from read_rows(path)[0]
        return
    with open_text(path, text_encoding) as (file, _):
        lines = ((f"{path}:{n}", line) for n, line in decoded_lines(file, path) if line.strip())
        head = list(itertools.islice(lines, 2))
        if not head:
            return
        if len(head) == 1 or not _is_json(head[0][1]):
            head += lines
            values = list(_values(head))
            if len(values) == 1 or len(head) == 1:
                yield from _records(values[0][1], path, noun, values[0][0])
            else:
                yield from values
            return
        for place, line in itertools.chain(head, lines):
            yield place, parsed_json(line, place)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _values(lines: Sequence[Tuple[str, str]]) -> Iterator[Tuple[str, Any]]:
    """Yields each of the JSON values that follow each other, perhaps over several lines."""
    starts = [0, *itertools.accumulate(len(line) + 1 for _, line in lines)]
    text, position = "\n".join(line for _, line in lines), 0
    decoder = json.JSONDecoder()
    while position < len(text):
        place = lines[bisect_right(starts, position) - 1][0]
        try:
            _, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = len(text)  # the error of `parsed_json` names the place
        yield place, parsed_json(text[position:end], place)
        position = end + len(text[end:]) - len(text[end:].lstrip(", \t\r\n"))


def _records(value: Any, path: PathOrAddress, noun: str, place: str) -> Iterator[Tuple[str, Any]]:
    """Yields the records of a list, or of an object with a list, or else the value itself."""
    records = _listed(value)
    if records is None:
        yield place, value
        return
    for number, record in enumerate(records, start=1):
        if record is not None:
            yield f"{path}, {noun} {number}", record


def _listed(value: Any) -> Optional[List[Any]]:
    """Returns the records of a list, or of an object with nothing else; None for a single record."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or "text" in value or isinstance(value.get("data"), dict):
        return None
    found = (each for key in _LISTS if isinstance(each := value.get(key), list))
    # Sentences may also be lists of tokens.
    return next((each for each in found if not each or not _are_strings(each[0])), None)


def _are_strings(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(each, str) for each in value)
    )


def parsed_json(text: str, place: str) -> Any:
    """Reads a JSON value that can be encoded as UTF-8 and has no key twice in an object."""
    try:
        value = parse_json(text)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise ValueError(f"{place}: {half} is half of a surrogate pair; correct the text") from None
    except InputError as error:
        raise ValueError(f"{place}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: expected JSON, got {text[:60]!r} ({error})") from None
    return value


def write_lines(path: Path, records: Iterable[Any], overwrite: bool = False) -> None:
    """Writes one JSON object on each line of a file, a new one unless `overwrite` is true."""
    with (
        write_atomically(path, overwrite) as new,
        new.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for record in records:
            # Records from Parquet may have times and bytes.
            file.write(json_line(record, default=str))
