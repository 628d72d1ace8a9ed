"""Reads the records of tables, JSON, Parquet and fastText's files, whatever their keys are."""

import csv
import re
from itertools import islice
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from tagger.common.csv_rows import are_quoted, csv_rows
from tagger.common.inputs import bare_suffix
from tagger.data.formats.json_files import read_records
from tagger.data.survey.other_files import looks_like_json, named_text
from tagger.data.text_encodings import decoded_lines, open_text

#: The keys of the text and of its labels, as the reader `document` takes them.
TEXT, LABELS = "text", "labels"
_FAST_TEXT = "__label__"
#: Names of columns that are hardly ever a cell of another row.
_NAMES = re.compile(
    r"(\w+_)?(text|tweet|comment|review|sentence|utterance|label|category|sentiment|id)s?",
    re.IGNORECASE,
)
#: The share of fastText's lines that have a label.
_SHARE = 0.5


class BrokenTableError(ValueError):
    """Raised if a quote is out of place in a table, with some records of it."""

    def __init__(self, message: str, records: List[Dict[str, Any]]) -> None:
        super().__init__(message)
        self.records = records


def records_of(path: Path, most: Optional[int] = None) -> List[Dict[str, Any]]:
    """Reads the records of JSON, Parquet, fastText or a table; none if it is another file.

    `most` is the number of lines to look at, or of records.

    Raises:
        BrokenTableError: If a table has a quote out of place.
    """
    is_table = bare_suffix(path).lower() in (".parquet", ".arrow")
    lines: List[str] = []
    if not is_table:
        with open_text(path) as (file, _):
            lines = [line for _, line in islice(decoded_lines(file, path), most)]
    filled = [line for line in lines if line.strip()]
    if is_table or (filled and looks_like_json(filled[0])):
        every = [record for _, record in islice(read_records(path), most)]
        return every if all(isinstance(each, dict) for each in every) else []
    if not filled or named_text(filled) is not None:
        return []
    if sum(_FAST_TEXT in each for each in filled) > max(1, _SHARE * len(filled)):
        return [_of_fast_text(line) for line in filled]
    return _of_table(lines, path, is_part=len(lines) == most)


def _of_fast_text(line: str) -> Dict[str, Any]:
    words = line.split()
    labels = [word for word in words if word.startswith(_FAST_TEXT)]
    text = " ".join(word for word in words if not word.startswith(_FAST_TEXT))
    return {TEXT: text, LABELS: [label[len(_FAST_TEXT) :] for label in labels]}


def _of_table(lines: Sequence[str], path: Path, is_part: bool) -> List[Dict[str, Any]]:
    """Reads a table with as many cells in each row, with or without a header."""
    broken = None
    for delimiter in ("\t", ",", ";", "|"):
        rows, error = _rows(lines, path, delimiter)
        rows = rows[:-1] if is_part and error is None else rows  # The last one may lack its end.
        if len(rows) < 2 or {len(row) for row in rows} != {len(rows[0])} or len(rows[0]) < 2:
            continue
        if error is None or is_part:
            return _named(rows)
        broken = broken or BrokenTableError(error, _named(rows))
    if broken is not None:
        raise broken
    return []


def _rows(
    lines: Sequence[str], path: Path, delimiter: str
) -> Tuple[List[List[str]], Optional[str]]:
    """Returns the rows above a quote out of place, and an error about it, if there is one.

    If this is the first row of data, the rows are those that have a line each.
    """
    rows: List[List[str]] = []
    is_quoted = are_quoted(lines, delimiter)
    try:
        for _, row in csv_rows(enumerate(lines, 1), delimiter, path, is_quoted):
            rows += [row] if row else []
    except ValueError as error:
        if len(rows) < 2:
            even = (line for line in lines if line.count('"') % 2 == 0)
            rows = [row for row in csv.reader(even, delimiter=delimiter) if row]
        return rows, str(error)
    return rows, None


def _named(rows: Sequence[Sequence[str]]) -> List[Dict[str, Any]]:
    """Makes records of rows, by the names in the first row if it is a header, which may come again."""
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(rows[0])]
    has_header = len({*names}) == len(names) and all(
        len(name.split()) <= 3 and not name.isdecimal() for name in names
    )
    if has_header and not any(map(_NAMES.fullmatch, names)):
        repeated = any(names[n] in {row[n] for row in rows[1:]} for n in range(len(names)))
        has_header = not repeated
    if not has_header:
        names = [f"column {number}" for number in range(len(names))]
    return [dict(zip(names, row)) for row in rows if not (has_header and row == rows[0])]
