"""Tables: column files and CSV files of tokens, and CSV files with a text per row."""

import csv
import io
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from tagger.common.csv_rows import NumberedLine, csv_rows, delimiter_of
from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress
from tagger.data.formats.annotated_text import (
    DOCUMENT_KEYS,
    OUTER_KEYS,
    AnnotatedText,
    document_of,
    sentences,
    text_of_tokens,
)
from tagger.data.formats.json_files import parsed_json
from tagger.data.formats.offsets import checked_entities
from tagger.data.formats.record_keys import (
    ENTITY_KEYS,
    TEXT_KEYS,
    listed_entities,
    parsed_value,
    raw_entities,
)
from tagger.data.formats.span_records import lists_of
from tagger.data.reading import DETECTED, Reading
from tagger.data.survey.column_survey import survey_columns
from tagger.data.survey.headers import names_tokens
from tagger.data.survey.schemes import Scheme, check_scheme
from tagger.data.survey.spellings import STANDARD
from tagger.data.text_encodings import decoded_lines, open_text

#: The label of entities that are lists of letters.
_UNNAMED = "SPAN"
#: Possible column names in a CSV file of texts, in lowercase, best first.
_COLUMNS = {"text": TEXT_KEYS, "entities": ("entities", *ENTITY_KEYS, "index_spans")}


def columns_of(header: Sequence[str], labelled: bool = True) -> Optional[Dict[str, int]]:
    """Returns the numbers of the columns `text` and `entities` in a CSV file with a text per row.

    Returns None if the header lacks one of them; entities are optional unless `labelled`.
    """
    names = [name.strip().lower() for name in header]
    if names_tokens(names):
        names = ["" if name == "sentence" else name for name in names]  # it names sentences
    found = {
        column: names.index(known)
        for column, candidates in _COLUMNS.items()
        for known in [each for each in candidates if each in names][:1]
    }
    return found if len(found) == 2 or (not labelled and "text" in found) else None


def read_csv(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads a CSV file with a header and a text per row, or like `read_columns`, with a token per row.

    Commas, semicolons or tabs separate its columns. Entities are in JSON, as written by doccano or
    Prodigy.
    """
    with open_text(path, reading.text_encoding) as (file, _):
        header = next((line for _, line in decoded_lines(file, path)), "")
        file.seek(0)
        with io.TextIOWrapper(file, "utf-8-sig", newline="") as lines:
            rows = _rows(enumerate(lines, 1), delimiter_of(header), path)
            _, names = next(rows, ("", []))
            columns = columns_of(names, reading.labelled)
            if columns is not None:
                others = _other_columns(names, [*columns.values()])
                place = ""
                for place, row in rows:
                    if len(row) != len(names):
                        raise ValueError(
                            f"{place}: expected {len(names)} columns as in the header, got {len(row)}"
                        )
                    cells = {column: row[number] for column, number in columns.items()}
                    rest = {name: row[n] for name, n in others.items() if row[n]}
                    if not reading.labelled:
                        cells.pop("entities", None)  # perhaps labels of whole texts
                    yield _text(cells, place, reading.offsets, rest)
                if not place:
                    raise ValueError(
                        f"{path}: expected a text on each row, got a header alone; name another file"
                    )
                return
    if not names_tokens(names):
        raise ValueError(
            f"{path}:1: expected columns `text` and `entities`, or `token` and `tag`, got "
            f"{', '.join(names)}; rename them"
        )
    yield from read_columns(path, replace(reading, token_column=None, tag_column=None))


def _other_columns(names: Sequence[str], used: Sequence[int]) -> Dict[str, int]:
    """Returns the columns that are properties, with keys that may name documents in lowercase."""
    keys = [name.strip() or f"column {number}" for number, name in enumerate(names)]
    known = (*DOCUMENT_KEYS, *OUTER_KEYS)
    keys = [key.lower() if key.lower() in known else key for key in keys]
    return {key: number for number, key in enumerate(keys) if number not in used}


def _rows(
    lines: Iterable[NumberedLine], delimiter: str, path: PathOrAddress
) -> Iterator[Tuple[str, List[str]]]:
    """Yields each row with its place, the row's last line."""
    number = 0
    try:
        for read, row in csv_rows(lines, delimiter, path):
            number = read[-1][0]
            if row:
                yield f"{path}:{number}", row
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}:{number + 1}: expected CSV in UTF-8 ({error})") from None


def _text(
    row: Dict[str, str], place: str, offsets: Optional[str], properties: Dict[str, str]
) -> AnnotatedText:
    cell = row.get("entities") or "[]"
    entities = listed_entities(cell)
    if entities is None:
        entities = _runs(parsed_value(cell))
    if entities is None:
        parsed_json(row["entities"], place)  # its error says what is wrong
        raise ValueError(f"{place}: expected a list of entities, got {row['entities']!r:.80}")
    found = checked_entities(row["text"], raw_entities(entities, place), place, offsets)
    outer = {key: row for key, row in properties.items() if key in OUTER_KEYS and row[:1] == "{"}
    parsed = {key: parsed_json(cell, place) for key, cell in outer.items()}
    return AnnotatedText(row["text"], found, None, None, place, {**properties, **parsed})


def _runs(numbers: Any) -> Optional[List[Any]]:
    """Returns entities for the numbers of their letters, such as `[5, 6, 7]`; None for other lists."""
    if not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
        return None
    ends = [n + 1 for n in numbers if n + 1 not in numbers]
    starts = [n for n in numbers if n - 1 not in numbers]
    is_sorted = numbers == sorted({*numbers})
    return [[*run, _UNNAMED] for run in zip(starts, ends)] if is_sorted else None


def write_csv(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes a text per row, with its entities in JSON, and its document if the first text has one."""
    texts = iter(texts)
    first = list(itertools.islice(texts, 1))
    has_documents = any(document_of(text) is not None for text in first)
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "entities", *["document"] * has_documents))
        for text in itertools.chain(first, texts):
            cells = [text.text, json.dumps(lists_of(text), ensure_ascii=False)]
            writer.writerow([*cells, *[document_of(text)] * has_documents])


def read_columns(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads a column file, or a CSV file with a token per row; each sentence becomes a text."""
    found = survey_columns(path, reading)
    token, tag, scheme = found.layout.token, found.layout.tag, found.scheme
    # The rows' tags already have our usual spelling; without a tag column, they are all `O`.
    spelled = Scheme("BIO") if tag is None else scheme._replace(spelling=STANDARD)
    for rows in found.sentences():
        if tag is not None:
            check_scheme(scheme, [rows], tag, path)
        tags = ["O" if tag is None else row.columns[tag] for row in rows]
        tokens = [row.columns[token] for row in rows]
        yield text_of_tokens(tokens, tags, f"{path}:{rows[0].number}", scheme=spelled)


def write_columns(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes a token, a tab and a BIO tag per line, and a blank line after each sentence.

    A `-DOCSTART-` line names the document of the texts after it, if they have one.
    """
    before = None
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        for text in texts:
            document = document_of(text)
            if document != before:
                name = "" if document is None else " ".join(str(document).split())
                file.write(f"-DOCSTART- ({name})\n\n" if name else "-DOCSTART-\n\n")
                before = document
            for tokens, tags in sentences(text):
                for token, tag in zip(tokens, tags):
                    is_mark = token.startswith("-DOCSTART-") or "\0" in token
                    if tag.split() != [tag] or is_mark:
                        raise ValueError(
                            f"{text.place}: a column file cannot hold {token!r} with tag {tag!r}; "
                            "labels have no blanks there, and no token is -DOCSTART- or has a zero byte"
                        )
                    # Readers strip one byte order mark, so add another.
                    mark = "\ufeff" if token.startswith("\ufeff") else ""
                    file.write(f"{mark}{token}\t{tag}\n")
                file.write("\n" if tokens else "")
