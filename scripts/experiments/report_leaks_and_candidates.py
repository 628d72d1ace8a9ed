#!/usr/bin/env python
"""Measures the calibration of leak probabilities, and the recall and cost of lists of candidates.

    python scripts/experiments/report_leaks_and_candidates.py model.tar.gz data/conll2003/eng.testa \
        --leaks PER,LOC
    python scripts/experiments/report_leaks_and_candidates.py model.tar.gz data/bc5cdr/devel.tsv \
        --documents 10

FILE is a column file, with tags last and in IOB1 or BIO, that the tagger was not trained on. For each
set of labels, the first tables compare predicted leak probabilities with how many documents really
leak. The last table shows the recall of gold entities among the candidates, and their cost, by the
least probability of a candidate.
"""

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np

import tagger
from tagger.data.column_file import read_documents, read_sentences
from tagger.data.reading import DOCUMENT_BORDERS
from tagger.metrics.intervals import wilson_interval
from tagger.spans import Span, tags_to_spans
from tagger_onnx import TaggedText

EDGES = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1)
LEAST = (0.5, 0.1, 0.01, 0.001)


class Sentence(NamedTuple):
    """The words of a sentence and its gold entities."""

    words: list[str]
    entities: set[Span]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    documents = list(_read(options.file, options.documents))
    model = tagger.load(options.archive)
    words = [sentence.words for document in documents for sentence in document]
    for labels in options.leaks or [model.labels]:
        tagged = iter(model.tag(words, leak_labels=labels))
        of_documents = [list(itertools.islice(tagged, len(document))) for document in documents]
        print(_leak_table(documents, of_documents, labels), end="\n\n")
    gold = [sentence.entities for document in documents for sentence in document]
    print(_candidate_table(model, words, gold))


def _leak_table(
    documents: Sequence[Sequence[Sentence]],
    tagged: Sequence[Sequence[TaggedText]],
    labels: Sequence[str],
) -> str:
    leaks, expected, num_missed = [], [], []
    for document, of_document in zip(documents, tagged):
        leaks.append(1 - np.prod([1 - (each.leak_probability or 0) for each in of_document]))
        expected.append(sum(each.expected_missed or 0 for each in of_document))
        missed = [
            span
            for sentence, each in zip(document, of_document)
            for span in sentence.entities - _spans(each.entities)
            if span[0] in labels
        ]
        num_missed.append(len(missed))
    probabilities, does_leak = np.array(leaks), np.array(num_missed) > 0
    lines = [f"leaks of {', '.join(labels)}: {len(documents)} documents"]
    lines.append("probability    documents  mean of them  that leak  95 % interval")
    for low, high in itertools.pairwise(EDGES):
        is_in = (probabilities >= low) & ((probabilities < high) | (high == 1))
        if is_in.any():
            number, right = int(is_in.sum()), int(does_leak[is_in].sum())
            interval = "{:.3f} to {:.3f}".format(*wilson_interval(right, number))
            share, mean = right / number, probabilities[is_in].mean()
            lines.append(f"{low:4g} to {high:<6g}{number:10}{mean:14.3f}{share:11.3f}  {interval}")
    lines.append(
        f"documents that leak: {probabilities.sum():.1f} expected, {does_leak.sum()} do; "
        f"entities missed: {sum(expected):.1f} expected, {sum(num_missed)} are"
    )
    return "\n".join(lines)


def _candidate_table(
    model: tagger.SavedTagger, words: Sequence[list[str]], gold: Sequence[set[Span]]
) -> str:
    num_tokens, num_gold = sum(map(len, words)), sum(map(len, gold))
    lines = ["least probability  recall of gold  candidates a token  bytes a token"]

    def add(title: object, listed: Sequence[Sequence[tagger.Entity]]) -> None:
        found = sum(len(_spans(each) & own) for each, own in zip(listed, gold))
        # The bytes that they take in the output of `predict-file`.
        rows = [[entity._asdict() for entity in each] for each in listed]
        num_bytes = sum(len(json.dumps(each).encode()) for each in rows)
        values = found / num_gold, sum(map(len, listed)) / num_tokens, num_bytes / num_tokens
        lines.append("{:<19}{:14.4f}{:20.4f}{:15.2f}".format(title, *values))

    add("prediction", [each.entities for each in model.tag(words)])
    for least in LEAST:
        add(least, [each.candidates for each in model.tag(words, candidates=least)])
    return "\n".join(lines)


def _spans(entities: Sequence[tagger.Entity]) -> set[Span]:
    return {(each.label, (each.first, each.last)) for each in entities}


def _read(path: Path, borders: str) -> Iterator[list[Sentence]]:
    with path.open("rb") as file:
        if borders in DOCUMENT_BORDERS:
            documents = read_documents(file, path, borders=borders)
        else:
            sentences = read_sentences(file, path)
            size = int(borders)
            documents = iter(lambda: list(itertools.islice(sentences, size)), [])
        for document in documents:
            yield [
                Sentence(
                    [row.columns[0] for row in sentence],
                    set(tags_to_spans([row.columns[-1] for row in sentence], "IOB1")),
                )
                for sentence in document
            ]


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive", metavar="ARCHIVE")
    parser.add_argument("file", type=Path, metavar="FILE")
    text = "labels that must not be missed; may be repeated; by default all together"
    parser.add_argument("--leaks", type=lambda text: text.split(","), action="append", help=text)
    text = "what separates documents: docstart, blank_lines, or a number of sentences (docstart)"
    parser.add_argument("--documents", default="docstart", help=text)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
