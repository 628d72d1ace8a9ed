"""Splits a file into parts for training and development, and writes them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

from tagger.common.files import check_is_file, write_atomically
from tagger.common.inputs import utf8_lines
from tagger.common.outputs import json_line
from tagger.data.column_file import is_docstart
from tagger.data.dataset_readers.document_labels import parsed_labels
from tagger.data.formats import AnnotatedText
from tagger.data.formats.annotated_text import DOCUMENT
from tagger.data.formats.span_records import prodigy_record
from tagger.data.splitting.documents import (
    BLANK_LINES,
    NONE,
    TEXTS,
    Documents,
    documents_of_rows,
    documents_of_texts,
)
from tagger.data.splitting.overlap import Overlap, overlap
from tagger.data.splitting.split import Groups, Item, groups_of, split_groups
from tagger.data.text_encodings import decoded_lines, open_text
from tagger.tools.start.survey import Survey, SurveyedFile
from tagger_texts.display import num_columns, padded
from tagger_texts.segments import WORDS, splitter_at

PARTS = ("train", "dev", "test")


class Source(NamedTuple):
    """The sentences or texts of a file, and its documents if they are marked.

    Attributes:
        items: The contents of each.
        written: The text to write for each, with what follows it.
        noun: The name of an item, in the plural.
        head: The beginning of each part, such as the names of columns.
    """

    path: Path
    items: List[Item]
    written: List[str]
    documents: Optional[Documents]
    noun: str = "sentences"
    head: str = ""


class Division(NamedTuple):
    """The parts of a file: the indices of their items, in order, by name.

    Its groups are kept together.
    """

    source: Source
    groups: Groups
    parts: Dict[str, List[int]]

    @property
    def marks(self) -> List[str]:
        """The number of the column or the key that tells documents apart, if there is one."""
        return [self.groups.documents.how] if self.groups.documents else []

    def items(self, name: str) -> List[Item]:
        """Returns the items of a part."""
        return [self.source.items[number] for number in self.parts[name]]

    def text(self, name: str) -> str:
        """Returns the text to write for a part."""
        return self.source.head + "".join(self.source.written[n] for n in self.parts[name])

    def overlaps(self) -> Dict[str, Overlap]:
        """Returns how much of each other part also occurs in the training part, if there is one."""
        if "train" not in self.parts:
            return {}
        train = self.items("train")
        return {name: overlap(train, self.items(name)) for name in self.parts if name != "train"}


def divide(
    source: Source, shares: Mapping[str, float], seed: int = 0, how: Optional[str] = None
) -> Division:
    """Divides a file between its documents, or between blocks of neighbours if none are marked.

    Parts with a share of 0 are left out. If `how` says how documents are marked, there must be some.
    """
    if source.documents is None and how not in (None, NONE):
        raise ValueError(
            f"{source.path}: `--documents` is {how}, which separates no documents here; leave it out"
        )
    groups = groups_of(len(source.items), source.documents)
    names = [name for name, share in shares.items() if share != 0]
    labels = [item.labels for item in source.items]
    assigned = split_groups(labels, groups, [shares[name] for name in names], seed, source.path)
    parts = {
        name: [number for number, part in enumerate(assigned) if part == index]
        for index, name in enumerate(names)
    }
    return Division(source, groups, parts)


def source_of_columns(found: Survey, file: SurveyedFile, how: Optional[str] = None) -> Source:
    """Returns the sentences of a surveyed column file, with the lines that mark documents.

    The arguments and errors are those of `documents_of_rows`.
    """
    header = file.columns.header if file.columns else ()
    columns = (found.token_column, found.tag_column)
    documents = documents_of_rows(file.sentences, file.gaps, file.path, columns, how, header=header)
    written, before = [], 0
    for number, (rows, gap) in enumerate(zip(file.sentences, file.gaps)):
        lines = [line for line in gap if line.strip()]
        document = documents.of_item[number] if documents else 0
        if documents and document != before:
            lines = ["", *lines] if documents.how == BLANK_LINES else lines
        before = document
        # A blank line after `-DOCSTART-`, as in CoNLL-2003, and none after comments.
        spaced = [f"{line}\n\n" if is_docstart(line) else f"{line}\n" for line in lines]
        written.append("".join([*spaced, *(f"{row.text}\n" for row in rows), "\n"]))
    return Source(
        file.path,
        items_of(found, file),
        written,
        documents,
        head="".join(f"{line}\n" for line in file.head),
    )


def items_of(found: Survey, file: SurveyedFile) -> List[Item]:
    """Returns the contents of each sentence or text of a file."""
    return [Item(found.tokens(rows), found.entities(rows)) for rows in file.sentences]


def source_of_texts(
    texts: Sequence[AnnotatedText], path: Path, format: str, how: Optional[str] = None
) -> Source:
    """Returns the texts of a file as Prodigy's JSON lines, which keep their properties.

    If documents are not marked by a property, records get the property `document`. Arguments and errors
    are those of `documents_of_texts`; there must be a text.
    """
    if not texts:
        raise ValueError(f"{path}: expected annotated texts in the format {format}, got none")
    documents = documents_of_texts(texts, path, format, how)
    written = []
    for number, text in enumerate(texts):
        is_told = documents is not None and documents.how == TEXTS
        told = {DOCUMENT: text.properties.get("name", number)} if is_told else {}
        record = prodigy_record(text._replace(properties={**text.properties, **told}))
        written.append(json_line(record))
    return Source(path, [_item(text) for text in texts], written, documents, "texts")


def _item(text: AnnotatedText) -> Item:
    """Returns the contents of a text; without tokens, it is split into words and other characters."""
    if text.tokens is None:
        words = [word for word, _ in splitter_at(WORDS)(text.text)]
    else:
        words = [text.text[start:end] for start, end in text.tokens]
    return Item(words, [(label, text.text[start:end]) for label, start, end in text.entities])


def source_of_conllu(
    texts: Sequence[AnnotatedText], path: Path, how: Optional[str] = None
) -> Source:
    """Returns the texts of a CoNLL-U file unchanged, with all columns and comments."""
    source = source_of_texts(texts, path, "conllu", how)
    with open_text(path) as (file, _):
        lines = [line for _, line in decoded_lines(file, path)]
    starts = []
    for text in texts:
        start = int(text.place.rpartition(":")[2]) - 1
        while start > 0 and lines[start - 1].startswith("#"):
            start -= 1
        starts.append(start)
    chunks = [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)])]
    return source._replace(written=["\n".join(chunk).rstrip("\n") + "\n\n" for chunk in chunks])


def source_of_labelled_texts(path: Path, label_key: str, how: Optional[str] = None) -> Source:
    """Returns the documents of a file with one JSON object on each line, with labels.

    Each line is a document, unless one of the keys of `documents_of_texts` groups them.
    """
    check_is_file(path)
    texts, items, lines = [], [], []
    for place, line in utf8_lines(str(path)):
        if not line.strip():
            continue
        record, labels = _labelled_record(line, place, label_key)
        words = [
            word for value in record.values() if isinstance(value, str) for word in value.split()
        ]
        texts.append(AnnotatedText("", [], None, None, place, record))
        items.append(Item(words, [(label, "") for label in labels]))
        lines.append(line.rstrip("\r\n") + "\n")
    if not items:
        raise ValueError(f"{path}: expected a JSON object on each line, got an empty file")
    documents = documents_of_texts(texts, path, how=how)
    if documents is None:
        documents = documents_of_texts(texts, path, how=how or TEXTS)
    return Source(path, items, lines, documents, "documents")


def _labelled_record(line: str, place: str, label_key: str) -> Any:
    try:
        record = json.loads(line)
        return record, parsed_labels(record[label_key], "?").present
    except (json.JSONDecodeError, KeyError, TypeError, ValueError):
        raise ValueError(
            f"{place}: expected a JSON object with a list of strings under {label_key!r}, got "
            f"{line[:200]!r}; correct the line or `--label-key`"
        ) from None


def write_parts(division: Division, paths: Mapping[str, Path], overwrite: bool = False) -> None:
    """Writes each part to its file in UTF-8, and makes the folder if necessary."""
    for name, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(path, overwrite) as new:
            new.write_bytes(division.text(name).encode())


def paths_of_parts(folder: Path, suffix: str, names: Iterable[str]) -> Dict[str, Path]:
    """Returns the files of the parts."""
    paths = {name: folder / f"{name}{suffix}" for name in names}
    for path in paths.values():
        if path.exists():
            raise FileExistsError(f"{path} is there already; move it, or name another folder")
    return paths


def table_of(division: Division) -> str:
    """Formats the number of items with each label in each part, most frequent first, as a table."""
    parts = {name: [set(item.labels) for item in division.items(name)] for name in division.parts}
    counts_of = [Counter(label for labels in part for label in labels) for part in parts.values()]
    counts = {label: [each[label] for each in counts_of] for label in set().union(*counts_of)}
    rows = sorted(counts.items(), key=lambda row: (-sum(row[1]), row[0]))
    rows.append(("(no label)", [sum(not labels for labels in part) for part in parts.values()]))
    rows.append((f"all {division.source.noun}", [len(part) for part in parts.values()]))
    groups = division.groups
    if groups.documents is None or groups.number < len(division.source.items):
        what = "documents" if groups.documents else "blocks"
        rows.append((f"all {what}", [groups.of(part).number for part in division.parts.values()]))
    width = max(num_columns(name) for name, _ in rows)
    lines = [f"{'':{width}}" + "".join(f"{name:>16}" for name in parts)]
    for name, row in rows:
        cells = (f"{number:7} ({number / max(sum(row), 1):6.1%})" for number in row)
        lines.append(padded(name, width) + "".join(cells))
    return "\n".join(lines)
