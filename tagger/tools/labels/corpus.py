"""A column file as documents, sentences and entities that can be corrected.

If entities overlap or tokens have several labels, each sentence has a row for each label, with the
entities of this label alone: row `s * C + c` is that of label c of C in sentence s.
"""

import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from allennlp.common.checks import ConfigurationError

from tagger.common.files import check_is_file
from tagger.data.column_file import Row
from tagger.data.reading import AUTO, Reading
from tagger.data.splitting.documents import BLANK_LINES, COMMENTS, DOCSTART, documents_of_columns
from tagger.data.splitting.split import groups_of, split_groups
from tagger.data.survey.column_survey import survey_columns
from tagger.data.text_encodings import decoded_lines, open_text
from tagger.spans import IllegalTagError, Span
from tagger.tools.labels.cells import cells_of

#: The text between two documents, by how documents are marked.
_BORDERS = {DOCSTART: "-DOCSTART-\n\n", COMMENTS: "-DOCSTART-\n\n", BLANK_LINES: "\n"}
#: The share of the sentences not held out that is used to choose the best epoch.
_DEV_SHARE = 0.1


class Sentence(NamedTuple):
    """A sentence of a corpus: its lines, its tokens, and its labelled entities, in order.

    `document` is the index of its document, from 0; it is 0 for all if the file marks none. A row of a
    single label has its name, `row_label`, and what its spans are called, `span_label`.
    """

    rows: List[Row]
    tokens: List[str]
    spans: List[Span]
    document: int
    row_label: Optional[str] = None
    span_label: str = ""

    def named(self, span: Optional[Span]) -> Optional[Span]:
        """Returns a span with the name of its label."""
        return span if span is None or self.row_label is None else (self.row_label, span[1])


class Corpus:
    """A column file with tags that spell entities, or with several labels a token.

    `reader` is the config of the dataset reader `column` that reads it. `documents` is None if the file
    marks none. Raises an error if the tags are neither, or may be unknown.

    Attributes:
        sentences: The sentences with their entities.
        rows: What is judged: the sentences, or a row for each sentence and label.
        labels: The labels, sorted.
        labels_of_rows: The labels of the rows of a sentence; empty if the rows are the sentences.
    """

    #: How the names of corrected files end.
    suffix = ".txt"

    def __init__(self, path: Path, reader: Mapping[str, Any]) -> None:
        self.path = path
        if reader.get("type", "column") != "column":
            raise ConfigurationError(
                "label errors can only be found in files for the dataset readers `column` and "
                f"`document`; got `dataset_reader.type` {reader['type']!r}"
            )
        has_sets = bool(reader.get("label_separator")) and not reader.get("label_chains")
        encoding: Optional[str] = reader.get("source_encoding", AUTO)
        unfit = [name for name in ("unknown_tag", "labels") if reader.get(name)]
        unfit += ["source_encoding"] if encoding is None and not has_sets else []
        if unfit:
            raise ConfigurationError(
                f"`dataset_reader.{unfit[0]}` is {reader[unfit[0]]!r}, but label errors are found only "
                "where tags spell entities, or tokens have several labels, and all are known; use a "
                "corpus of that kind"
            )
        check_is_file(path)
        known = Reading.of_reader({**reader, "source_encoding": None if has_sets else encoding})
        found = survey_columns(path, known)
        layout = found.layout
        self._cells = cells_of(found, known, path)
        self.encoding = self._cells.encoding
        self._text_encoding, self._header = found.text_encoding, found.layout.header
        self._tag_column: int = layout.tag or 0
        self._delimiter = layout.delimiter
        self.documents = documents_of_columns(found)
        all_rows = list(found.sentences())
        numbers = self.documents.of_item if self.documents else [0] * len(all_rows)
        self.sentences = [
            Sentence(rows, [row.columns[layout.token] for row in rows], self._spans(rows), number)
            for number, rows in zip(numbers, all_rows)
        ]
        self.labels = sorted({label for each in self.sentences for label, _ in each.spans})
        self.set_rows(self.labels if self._cells.by_label else [])

    def set_rows(self, labels: Sequence[str]) -> None:
        """Gives each sentence a row for each of these labels, or one in all if there are none."""
        self.labels_of_rows = list(labels)
        self.rows = rows_by_label(self.sentences, labels, self._cells.span_label)

    def write(self, path: Path, sentences: Sequence[int]) -> None:
        """Writes some of the sentences, in order, as a column file with all its columns."""
        parts = [f"{line}\n" for line in self.lines()[: self._header]]
        how = self.documents.how if self.documents else ""
        border = _BORDERS.get(how, "")
        before: Optional[int] = None
        for sentence in (self.sentences[number] for number in sentences):
            # A blank line before the first document would mark no border.
            if sentence.document != before and (before is not None or how != BLANK_LINES):
                parts.append(border)
            before = sentence.document
            parts += [f"{row.text}\n" for row in sentence.rows] + ["\n"]
        path.write_text("".join(parts), encoding="utf-8")

    def lines(self) -> List[str]:
        """Returns all lines of the file; line n is at index n - 1."""
        with open_text(self.path, self._text_encoding) as (file, _):
            return [line for _, line in decoded_lines(file, self.path)]

    def edits(self, number: int, removed: Sequence[Span], added: Sequence[Span]) -> Dict[int, str]:
        """Returns the lines to change if entities of a row are replaced.

        The result maps line numbers to new text. The entities in `added` must not overlap others of the
        row. Entities that share no token can be replaced in one call or several, with the same result.
        """
        sentence = self.rows[number]
        spans = [*(span for span in sentence.spans if span not in removed), *added]
        cells = [self.cell(row) for row in sentence.rows]
        new = self._cells.respelled(cells, spans, sentence.row_label)
        touched = {t for _, (first, last) in (*removed, *added) for t in range(first, last + 1)}
        touched |= {last + 1 for _, (_, last) in added} & set(range(len(cells)))
        return {
            sentence.rows[t].number: self.with_tag(sentence.rows[t], new[t])
            for t in sorted(touched)
            if new[t] != cells[t]
        }

    def cell(self, row: Row) -> str:
        """Returns the tag, or the joined tags or labels, of a line."""
        return row.columns[self._tag_column]

    def opened(self, cell: str, row_label: Optional[str], unknown_tag: str) -> str:
        """Returns a cell in which the tag, or whether the token has the row's label, is unknown."""
        return self._cells.opened(cell, row_label, unknown_tag)

    def with_tag(self, row: Row, tag: str) -> str:
        """Returns a line with this tag in its column, and otherwise unchanged."""
        gap = r"[ \t\r\n\f\v]+" if self._delimiter is None else re.escape(self._delimiter)
        # Cells and separators alternate; white space at either end of the line is not a cell.
        cells = re.split(f"({gap})", row.text)
        columns = [i for i in range(0, len(cells), 2) if self._delimiter is not None or cells[i]]
        cells[columns[self._tag_column]] = tag
        return "".join(cells)

    def _spans(self, rows: Sequence[Row]) -> List[Span]:
        try:
            return self._cells.spans([self.cell(row) for row in rows])
        except IllegalTagError as error:
            row = rows[error.position]
            raise ValueError(f"{self.path}:{row.number}: in {row.quoted}, {error}") from None


def rows_by_label(
    sentences: Sequence[Sentence], labels: Sequence[str], span_label: Optional[str]
) -> List[Sentence]:
    """Returns the rows of sentences; `span_label` is what spans are called, None for their labels."""
    if not labels:
        return list(sentences)
    rows = []
    for each in sentences:
        for label in labels:
            name = label if span_label is None else span_label
            spans = [(name, place) for own, place in each.spans if own == label]
            rows.append(each._replace(spans=spans, row_label=label, span_label=name))
    return rows


class Fold(NamedTuple):
    """The sentences for training, for choosing the best epoch, and held out in a fold."""

    train: List[int]
    dev: List[int]
    held_out: List[int]


def make_folds(corpus: Any, num_folds: int) -> List[Fold]:
    """Divides the documents of a corpus, or blocks of sentences if the file marks no documents.

    Each fold has its share of each label.
    """
    groups = groups_of(len(corpus.sentences), corpus.documents)
    if not 2 <= num_folds <= groups.number // 2:
        kind = "documents" if corpus.documents else "blocks of sentences"
        raise ConfigurationError(
            f"`--folds` must be at least 2 and at most half the number of {kind} of {corpus.path}, "
            f"{groups.number}; got {num_folds}"
        )
    labels = [[label for label, _ in sentence.spans] for sentence in corpus.sentences]
    fold_of = split_groups(labels, groups, [1] * num_folds, 0, corpus.path)
    folds = []
    for index in range(num_folds):
        others = [number for number, fold in enumerate(fold_of) if fold != index]
        shares = [1 - _DEV_SHARE, _DEV_SHARE]
        own_labels = [labels[number] for number in others]
        is_dev = split_groups(own_labels, groups.of(others), shares, 0, corpus.path)
        train, dev = ([n for n, part in zip(others, is_dev) if part == each] for each in (0, 1))
        folds.append(Fold(train, dev, [n for n, fold in enumerate(fold_of) if fold == index]))
    return folds
