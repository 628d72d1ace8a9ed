"""Rows of CSV: what is written is read, and a quote out of place joins no rows."""

import csv
import io
import json
import random

import pytest

from tagger.commands.prediction_inputs import CsvInputs
from tagger.common.csv_rows import are_quoted, csv_rows
from tagger.data.dataset_readers.numeric_sequences import read_table
from tagger.data.formats import read_texts
from tagger.data.reading import Reading
from tagger.tools.start.labelled_texts import find_labelled_texts

WORDS = ["Ada", "left", "Rome", '5"', '"', "a,b", "c;d", "\t", "\n", "-", ""]


def written(rows, delimiter):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return file.getvalue()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_is_written_is_read(delimiter):
    rng = random.Random(delimiter)
    for _ in range(100):
        rows = [[" ".join(rng.choices(WORDS, k=4)) for _ in range(3)] for _ in range(5)]
        text = written([["a", "b", "c"], *rows], delimiter)
        lines = text.splitlines()
        found = [*csv_rows(enumerate(lines, 1), delimiter)]
        assert [cells for _, cells in found[1:]] == rows
        assert [line for read, _ in found for line in read] == [*enumerate(lines, 1)]
        assert are_quoted(lines, delimiter)


#: By reader, a table of twenty rows, and what reads it.
ROWS = [(f"Ada saw number {n} in Rome", "ab"[n % 2]) for n in range(20)]
READERS = {
    "texts with entities": (
        written([["text", "entities"], *((text, "[]") for text, _ in ROWS)], ","),
        lambda path: [*read_texts(path, Reading("csv"))],
    ),
    "lists in cells": (
        written([["words", "tags"], *((text.split(), ["O"] * 6) for text, _ in ROWS)], ","),
        lambda path: [*read_texts(path, Reading("huggingface"))],
    ),
    "numbers": (
        written([["x", "y"], *((n, n) for n in range(20))], ","),
        lambda path: [*read_table(path)[1]],
    ),
    "texts to predict": (
        written([["text", "class"], *ROWS], ","),
        lambda path: [*CsvInputs(None, str(path))],
    ),
    "texts with labels": (written([["text", "class"], *ROWS], ","), find_labelled_texts),
}


@pytest.mark.parametrize("at", [1, 4, 21])
@pytest.mark.parametrize("reader", READERS)
def test_a_quote_out_of_place_is_refused_where_its_row_starts(reader, at, tmp_path):
    text, read = READERS[reader]
    path = tmp_path / "texts.csv"
    path.write_text(text)
    assert len(getattr(whole := read(path), "texts", whole)) == 20
    lines = text.splitlines()
    lines[at:at] = ['"Ada left,a', '"Rome was not,b']
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=rf"texts.csv:{at + 1}: expected CSV, got a quote out"):
        read(path)


def test_between_tabs_quotes_may_be_like_other_characters(tmp_path):
    rows = [(f'"Ada" saw {n}" in Rome'[n % 2 :], "ab"[n % 2]) for n in range(20)]
    path = tmp_path / "texts.tsv"
    path.write_text("text\tclass\n" + "".join("\t".join(row) + "\n" for row in rows))
    assert find_labelled_texts(path).texts == [text for text, _ in rows]
    assert [each.text for each in CsvInputs(None, str(path))] == [
        json.dumps(text) for text, _ in rows
    ]
