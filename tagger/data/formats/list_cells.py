"""Tables with a sentence a row: lists in their cells, as pandas writes them, or words beside tags."""

import csv
import itertools
import re
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from tagger.common.csv_rows import are_quoted, csv_rows, delimiter_of
from tagger.common.inputs import PathOrAddress
from tagger.data.formats.record_keys import parsed_value
from tagger.data.text_encodings import decoded_lines, open_text

_QUOTED = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_NUMPY = re.compile(rf"\[\s*{_QUOTED}(?:\s+{_QUOTED})+\s*\]|\[\s*\d+(?:\s+\d+)+\s*\]")
_ITEM = re.compile(rf"{_QUOTED}|\d+")
#: The tags of several words, or of one, with blanks between them.
_TAGS = re.compile(r"(?:O|[BIESLUM][-_]\S+)(?: +(?:O|[BIESLUM][-_]\S+))*")
#: The names of columns with a text that has a tag for each word, in lowercase.
_TEXTS = ("sentence", "text", "words", "tokens", "content")
#: The number of rows to examine.
_MOST_ROWS = 20


def has_list_cells(lines: Sequence[str], delimiter: str) -> bool:
    r"""Whether the first rows have the tags of a sentence in a cell, beside its tokens or text.

    Example:
        >>> has_list_cells(["words,tags", '''"['Ada', 'left']","['B-PER', 'O']"'''], ",")
        True
        >>> has_list_cells(["Ada left\tB-PER O", "Rome fell now\tB-LOC O O"], "\t")
        True
    """
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    try:
        first = list(itertools.islice(rows, _MOST_ROWS))
    except (ValueError, csv.Error):
        return False
    names, first = _names_and_rest(first)
    # The header comes again in merged files.
    records = [_record(names, row) for row in first if len(row) == len(names) and row != names]
    # The last row may be cut.
    found = [record.get("tokens") for record in records[:-1] or records]
    lengths = [len(each) if isinstance(each, list) else 0 for each in found]
    return bool(lengths) and min(lengths) > 0 and max(lengths) > 1


def _names_and_rest(rows: List[List[str]]) -> Tuple[List[str], List[List[str]]]:
    """Returns the names of the columns and the rows; without a header, the tags tell the words."""
    first = rows[0] if rows else []
    tags = [i for i, cell in enumerate(first) if _TAGS.fullmatch(cell.strip())]
    sizes = [len(cell.split()) for cell in first]
    words = [
        i for i in range(len(first)) if i not in tags and any(sizes[i] == sizes[t] for t in tags)
    ]
    if not words:
        return first, rows[1:]
    return ["tokens" if i == words[0] else f"column {i}" for i in range(len(first))], rows


def is_table(path: PathOrAddress, text_encoding: Optional[str] = None) -> bool:
    """Whether a file has rows, and not records of JSON."""
    with open_text(path, text_encoding) as (file, _):
        first = next((line for _, line in decoded_lines(file, path) if line.strip()), "[")
    return not first.lstrip().startswith(("[", "{"))


def read_list_cells(
    path: PathOrAddress, text_encoding: Optional[str] = None
) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Yields a record for each row, with its place; cells with lists are lists in it.

    Raises:
        ValueError: If a row has another number of cells than the header.
    """
    with open_text(path, text_encoding) as (file, _):
        numbered = decoded_lines(file, path)
        first = list(itertools.islice(numbered, _MOST_ROWS))
        lines = [line for _, line in first]
        delimiter = delimiter_of(lines[0] if lines else "")
        quoted = are_quoted(lines, delimiter)
        rows = csv_rows(itertools.chain(first, numbered), delimiter, path, quoted)
        begin = list(itertools.islice(rows, 1))
        names, rest = _names_and_rest([row for _, row in begin])
        for read, row in itertools.chain(begin[: len(rest)], rows):
            place = f"{path}:{read[-1][0]}"
            if row and len(row) != len(names):
                raise ValueError(
                    f"{place}: expected {len(names)} columns as in the header, got {len(row)}"
                )
            if any(row) and row != names:
                yield place, _record(names, row)


def _record(names: Sequence[str], row: Sequence[str]) -> Dict[str, Any]:
    """Makes a record; without a list of tokens, these are the words of a text, if each has a tag."""
    record: Dict[str, Any] = {name: _listed(cell) for name, cell in zip(names, row)}
    lists = {name: value for name, value in record.items() if isinstance(value, list)}
    lowered = {name.strip().lower(): name for name in names}
    for key in _TEXTS:
        value = record.get(lowered.get(key, ""))
        words = value.split() if isinstance(value, str) else value
        others = [each for each in lists.values() if each is not value]
        if words and any(len(each) == len(words) for each in others):
            rest = {name: each for name, each in record.items() if each is not value}
            return {"tokens": words, **rest}
    return record


def _listed(cell: str) -> Any:
    """Returns the list of strings or integers that a cell spells, or of its tags, or else the cell."""
    if not cell.startswith("["):
        return cell.split() if _TAGS.fullmatch(cell.strip()) else cell
    if _NUMPY.fullmatch(cell):  # Python would join strings without commas
        value: Any = [parsed_value(item) for item in _ITEM.findall(cell)]
    else:
        value = parsed_value(cell)
    is_list = isinstance(value, list) and all(type(each) in (str, int) for each in value)
    return value if is_list else cell
