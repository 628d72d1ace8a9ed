#!/usr/bin/env python
"""Measures how often sets of answers hold the truth, and how large they are.

    python scripts/experiments/measure_sets.py model.tar.gz data/conll2003/eng.testa \
        data/conll2003/eng.testb -o sets.csv

The tagger must not have seen the files. Their documents are split into halves at random, a thousand
times; each rule chooses a threshold on one half, and is tested on the other. With `--new`, all documents
of the files are for calibration, and the test is on other files, once. For entities and sentences, each
confidence and each rule, the table shows

- answers: the share of splits in which the rule has a threshold;
- holds: how often the set of a random item of a random document holds the truth, which is what is
  promised, the mean over these splits;
- of_items: the same for a random item of all documents;
- worst: the 5 % quantile of `holds` over the splits;
- mean, median: the number of answers in a set, over the items.

Rules: `sets` is `tune-decoding --sets`, using its own functions. `items` is the same with each item as a
document. `quantile` is the quantile of the calibration scores without a correction. `top-k` gives the k
best answers, with the smallest k that is right often enough on the calibration half.
"""

import argparse
import csv
import math
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple, Optional

import numpy as np
from allennlp.models import Archive, load_archive

from tagger.tools.tuning.answer_sets import Items, hierarchical_quantile, joined, scored_items
from tagger.tools.tuning.groups import groups_of_file
from tagger.tools.tuning.labelled_file import read_instances

SPLITS, CONFIDENCES = 1000, (0.8, 0.9, 0.95)
RULES = ("sets", "items", "quantile", "top-k")
COLUMNS = ("of", "confidence", "rule", "answers", "holds", "of_items", "worst", "mean", "median")


class Population(NamedTuple):
    """Items of one kind, and the document of each, (N,) int64, numbered over all files."""

    items: Items
    documents: np.ndarray


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    archive = load_archive(options.archive, cuda_device=-1)
    given = _populations(archive, options.files)
    new = _populations(archive, options.new) if options.new else None
    with open(options.output or sys.stdout.fileno(), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name, population in given.items():
            tested = None if new is None else new[name]
            for confidence in CONFIDENCES:
                for rule in RULES:
                    row = _row(population, tested, confidence, rule, options.splits)
                    writer.writerow([name, confidence, rule, *row])
                    file.flush()


def _populations(archive: Archive, paths: Sequence[str]) -> dict[str, Population]:
    parts: dict[str, list[Population]] = {"entities": [], "sentences": []}
    num_documents = 0
    reader = archive.validation_dataset_reader
    for path in paths:
        entities, sentences, number = scored_items(archive.model, read_instances(reader, path))
        groups = groups_of_file(reader, path, number)
        print(f"{path}: {groups.number} {groups.kind}s, {number} sentences", file=sys.stderr)
        for own, items in zip(parts.values(), (entities, sentences)):
            documents = groups.of_sentence[items.sentences] + num_documents
            own.append(Population(items, documents))
        num_documents += groups.number
    return {name: _joined(own) for name, own in parts.items()}


def _joined(parts: Sequence[Population]) -> Population:
    documents = np.concatenate([part.documents for part in parts])
    return Population(joined([part.items for part in parts]), documents)


def _row(
    given: Population, new: Optional[Population], confidence: float, rule: str, num_splits: int
) -> Iterator[str]:
    tested = new or given
    answers_of = np.bincount(tested.items.owners, minlength=len(tested.documents))

    @cache
    def of_threshold(threshold: float) -> tuple[np.ndarray, np.ndarray]:
        """Whether the set of each tested item holds the truth, and its size."""
        if rule == "top-k":
            return tested.items.ranks <= threshold, np.minimum(answers_of, threshold)
        return tested.items.scores <= threshold, tested.items.sizes(threshold)

    found = []
    for is_calibrating, is_tested in _splits(given, new, num_splits):
        own = given.documents[is_calibrating]
        values = given.items.ranks if rule == "top-k" else given.items.scores
        threshold = _threshold(values[is_calibrating], own, confidence, rule)
        if math.isinf(threshold):
            found.append([math.nan] * 4)
            continue
        holds, sizes = (each[is_tested] for each in of_threshold(threshold))
        documents = tested.documents[is_tested]
        numbers = np.bincount(documents)
        by_document = np.bincount(documents, holds)[numbers > 0] / numbers[numbers > 0]
        found.append([by_document.mean(), holds.mean(), sizes.mean(), np.median(sizes)])
    table = np.array(found)
    answers = np.isfinite(table[:, 0])
    yield f"{answers.mean():.3f}"
    if answers.any():
        holds, of_items, mean, median = table[answers].mean(0)
        worst = np.quantile(table[answers, 0], 0.05)
        yield from (f"{each:.4f}" for each in (holds, of_items, worst))
        yield from (f"{each:.2f}" for each in (mean, median))


def _splits(
    given: Population, new: Optional[Population], number: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields masks of the items for calibration, and of those for the test."""
    if new is not None:
        yield np.full(len(given.documents), True), np.full(len(new.documents), True)
        return
    names = np.unique(given.documents)
    rng = np.random.default_rng(0)
    for _ in range(number):
        is_chosen = np.zeros(names.max() + 1, dtype=bool)
        is_chosen[rng.permutation(names)[: len(names) // 2]] = True
        is_calibrating = is_chosen[given.documents]
        yield is_calibrating, ~is_calibrating


def _threshold(values: np.ndarray, documents: np.ndarray, confidence: float, rule: str) -> float:
    if rule == "sets":
        return hierarchical_quantile(values, documents, confidence)
    if rule == "items":
        return hierarchical_quantile(values, np.arange(len(values)), confidence)
    return float(np.sort(values)[math.ceil(confidence * len(values) - 1e-9) - 1])


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("archive", metavar="ARCHIVE")
    add("files", nargs="+", metavar="FILE")
    add("--new", nargs="+", metavar="FILE", help="test on these files")
    add("--splits", type=int, default=SPLITS, help=f"the number of splits ({SPLITS})")
    add("-o", "--output", help="the CSV file to write (printed)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
