"""Reads the records of tables, JSON, Parquet and fastText's files, whatever their keys are."""

import csv
from itertools import islice
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from tagger.common.inputs import bare_suffix
from tagger.data.formats.json_files import read_records
from tagger.data.survey.other_files import looks_like_json, named_text
from tagger.data.text_encodings import decoded_lines, open_text

#: The keys of the text and of its labels, as the reader `document` takes them.
TEXT, LABELS = "text", "labels"
_FAST_TEXT = "__label__"
#: The share of fastText's lines that have a label.
_SHARE = 0.5


def records_of(path: Path, most: Optional[int] = None) -> List[Dict[str, Any]]:
    """Reads the records of JSON, Parquet, fastText or a table; none if it is another file.

    `most` is the number of lines to look at, or of records.
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
    return _of_table(lines, is_part=len(lines) == most)


def _of_fast_text(line: str) -> Dict[str, Any]:
    words = line.split()
    labels = [word for word in words if word.startswith(_FAST_TEXT)]
    text = " ".join(word for word in words if not word.startswith(_FAST_TEXT))
    return {TEXT: text, LABELS: [label[len(_FAST_TEXT) :] for label in labels]}


def _of_table(lines: Sequence[str], is_part: bool) -> List[Dict[str, Any]]:
    """Reads a table with as many cells in each row, with or without a header."""
    csv.field_size_limit(1 << 30)
    for delimiter in ("\t", ",", ";", "|"):
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
        rows = [row for row in reader if row]
        rows = rows[:-1] if is_part else rows  # The last one may lack its end.
        if len(rows) < 2 or {len(row) for row in rows} != {len(rows[0])} or len(rows[0]) < 2:
            continue
        names = [cell.strip() or f"column {number}" for number, cell in enumerate(rows[0])]
        has_header = len({*names}) == len(names) and all(
            len(name.split()) <= 3 and not name.isdecimal() for name in names
        )
        if has_header:
            repeated = any(names[n] in {row[n] for row in rows[1:]} for n in range(len(names)))
            has_header = not repeated
        if not has_header:
            names = [f"column {number}" for number in range(len(names))]
        return [dict(zip(names, row)) for row in rows[has_header:]]
    return []
