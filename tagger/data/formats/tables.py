"""Tables of tokens: CSV files with a header, and column files."""

import csv
import io
import json
from itertools import groupby
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress, open_input
from tagger.data.column_file import read_sentences
from tagger.data.decoded_lines import decoded_lines
from tagger.data.formats.annotated_text import AnnotatedText, sentences, text_of_tokens
from tagger.data.formats.json_files import parsed_json
from tagger.data.formats.offsets import checked_entities
from tagger.data.formats.span_records import raw_entity

#: The names that columns of a CSV file may have, in small letters, best first.
COLUMNS = {
    "sentence": ("sentence", "sentence #", "sentence_id", "sent_id", "sentence_number"),
    "token": ("token", "word", "tokens", "words"),
    "tag": ("tag", "ner_tag", "ner", "ner_tags", "label", "tags"),
    "text": ("text", "content"),
    "entities": ("entities", "spans", "label", "labels", "annotations"),
}


def columns_of(header: Sequence[str], labelled: bool = True) -> Optional[Dict[str, int]]:
    """Finds columns by their names.

    Args:
        header: The names.
        labelled: Whether a text needs entities.

    Returns:
        The numbers of `text` and `entities`, or of `sentence`, `token` and `tag`; None if the header has
        neither.
    """
    names = [name.strip().lower() for name in header]
    numbers = {
        column: next((names.index(known) for known in candidates if known in names), None)
        for column, candidates in COLUMNS.items()
    }
    kinds = [("text", "entities"), ("sentence", "token", "tag")]
    for wanted in kinds if labelled else [*kinds, ("text",)]:
        found = {column: number for column in wanted if (number := numbers[column]) is not None}
        if len(found) == len(wanted):
            return found
    return None


def delimiter_of(header: str) -> str:
    """Returns the character that separates the columns of a header."""
    return max(",;\t", key=header.count)


def read_csv(
    path: PathOrAddress, offsets: Optional[str] = None, labelled: bool = True
) -> Iterator[AnnotatedText]:
    """Reads a CSV file with a header, with a text in each row or with a token in each row.

    A text has its entities in JSON, as doccano or Prodigy write them. Tokens have a sentence number,
    which may be left out after the first of a sentence; a sentence becomes a text.

    Args:
        path: The file, separated by commas, semicolons or tabs.
        offsets: What offsets count, as for `checked_entities`.
        labelled: Whether a text needs entities.

    Raises:
        ValueError: If the columns are not found or a row is not as expected; the message says where.
    """
    csv.field_size_limit(1 << 30)  # a cell may hold a whole document
    with open_input(path) as file:
        header = next((line for _, line in decoded_lines(file, path)), "")
    with open_input(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter_of(header), strict=True)
        rows = _rows(reader, path)
        _, names = next(rows, ("", []))
        columns = columns_of(names, labelled)
        if columns is None:
            raise ValueError(
                f"{path}:1: expected columns `text` and `entities`, or `sentence`, `token` and `tag`, "
                f"got {', '.join(names)}; rename them"
            )
        cells = (
            (place, {column: row[number] for column, number in columns.items()})
            for place, row in _checked(rows, len(names))
        )
        if "text" in columns:
            for place, row in cells:
                yield _text(row, place, offsets)
        else:
            yield from _sentences(cells)


def _rows(reader: Any, path: PathOrAddress) -> Iterator[Tuple[str, List[str]]]:
    """Yields each row with its place, which is the line on which it ends."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path}:{reader.line_num + 1}: expected CSV in UTF-8 ({error})"
            ) from None
        if row:
            yield f"{path}:{reader.line_num}", row


def _checked(
    rows: Iterable[Tuple[str, List[str]]], num_columns: int
) -> Iterator[Tuple[str, List[str]]]:
    for place, row in rows:
        if len(row) != num_columns:
            raise ValueError(
                f"{place}: expected {num_columns} columns as in the header, got {len(row)}"
            )
        yield place, row


def _text(row: Dict[str, str], place: str, offsets: Optional[str]) -> AnnotatedText:
    entities = parsed_json(row.get("entities") or "[]", place)
    if not isinstance(entities, list):
        raise ValueError(f"{place}: expected a list of entities, got {row['entities']!r:.80}")
    raw = [raw_entity(entity, place) for entity in entities]
    found = checked_entities(row["text"], raw, place, offsets)
    return AnnotatedText(row["text"], found, None, None, place, {})


def _sentences(cells: Iterable[Tuple[str, Dict[str, str]]]) -> Iterator[AnnotatedText]:
    for _, group in groupby(_numbered(cells), key=lambda item: item[0]):
        items = list(group)
        _, place, first = items[0]
        tokens = [row["token"] for _, _, row in items]
        tags = [row["tag"] for _, _, row in items]
        yield text_of_tokens(tokens, tags, place, None, {"sentence": first["sentence"]})


def _numbered(
    cells: Iterable[Tuple[str, Dict[str, str]]],
) -> Iterator[Tuple[str, str, Dict[str, str]]]:
    """Puts the sentence number in front of each row; an empty one is that of the row before."""
    number = ""
    for place, row in cells:
        number = row["sentence"] or number
        yield number, place, row


def write_csv(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes a text in each row, with its entities in JSON."""
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "entities"))
        for text in texts:
            entities = [[start, end, label] for label, start, end in text.entities]
            writer.writerow((text.text, json.dumps(entities, ensure_ascii=False)))


def read_columns(path: PathOrAddress) -> Iterator[AnnotatedText]:
    """Reads a column file: the first column has tokens, the last one tags; a sentence becomes a text.

    Raises:
        ValueError: If a line is not as expected; the message says where.
    """
    with open_input(path) as file:
        for rows in read_sentences(file, path):
            tokens, tags = ([row.columns[column] for row in rows] for column in (0, -1))
            yield text_of_tokens(tokens, tags, f"{path}:{rows[0].number}")


def write_columns(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes a token, a tab and a tag in BIO on each line, and a blank line after each sentence.

    Raises:
        ValueError: If entities overlap, or if a label or a token means something else in such a file.
    """
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        for text in texts:
            for tokens, tags in sentences(text):
                for token, tag in zip(tokens, tags):
                    if tag.split() != [tag] or token.startswith("-DOCSTART-"):
                        raise ValueError(
                            f"{text.place}: a column file cannot hold {token!r} with tag {tag!r}; "
                            "labels have no blanks there, and no token is -DOCSTART-"
                        )
                    file.write(f"{token}\t{tag}\n")
                file.write("\n" if tokens else "")
