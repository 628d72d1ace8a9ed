#!/usr/bin/env python
"""Writes a changed copy of a labelled file, to measure the cost of imperfect labels.

    python scripts/experiments/change_corpus.py hide-tokens data/wnut17/wnut17train.conll TARGET \
        --share 0.3
    python scripts/experiments/change_corpus.py hide-labels data/reuters/train.jsonl TARGET --share 0.3
    python scripts/experiments/change_corpus.py miss-entities data/wnut17/wnut17train.conll TARGET \
        --share 0.5
    python scripts/experiments/change_corpus.py thin-label data/conll2003/eng.train TARGET \
        --label MISC --share 0.01
    python scripts/experiments/change_corpus.py split-labels data/conll2003/eng.train TARGET \
        --label PER --share 0.25

- `hide-tokens`: a token in any span becomes an `ENTITY`, every other token an `O`. A share of all
  tokens gets the tag `--hide-as`: `?` for unknown, or `O`, like data with overlooked entities.
- `hide-labels`, for JSON lines with `labels`: removes a share of all labels of all documents. A label
  that would disappear entirely stays in its first document. Labels that are hidden at one share are
  also hidden at any larger one.
- `miss-entities`: a share of the entities (BIO) becomes `O`.
- `thin-label`: keeps a share, rounded up, of the sentences with a label, and all other sentences.
- `split-labels`: keeps a share of all runs of 40 sentences, by turns with the entities of `--label`,
  such as PER,LOC, and with those of the other labels: `a.txt` and `b.txt` beside TARGET, a `.files.json`
  that says so. `full.txt` has all entities, `absent.txt` is `a.txt` and `b.txt` in one.

The same seed always changes the same. An existing TARGET is never overwritten.
"""

import argparse
import itertools
import json
import math
import random
from pathlib import Path
from typing import Any, Callable, Collection, Dict, List, Optional, Sequence

from tagger.data.column_file import Row, read_sentences
from tagger.spans import spans_to_tags, tags_to_spans


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("change", choices=CHANGES)
    add("file", type=Path, metavar="FILE", help="a column file with its tags last, or JSON lines")
    add("target", type=Path, metavar="TARGET", help="the file to write")
    add("--share", type=float, required=True, help="the share to hide, miss or keep")
    add("--hide-as", default="?", metavar="TAG", help="for hide-tokens")
    add("--label", help="for thin-label, and the labels for split-labels")
    add("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if not 0 <= options.share <= 1:
        raise SystemExit(f"--share must lie in [0, 1]; got {options.share}")
    if options.target.exists():
        raise SystemExit(f"{options.target} is there already; move it, or name another file")
    try:
        text = CHANGES[options.change](options, random.Random(options.seed))
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    options.target.parent.mkdir(parents=True, exist_ok=True)
    options.target.write_text(text, encoding="utf-8")
    print(f"{options.target}: {text.count(chr(10)):,} lines")


def _hide_tokens(options: argparse.Namespace, draw: random.Random) -> str:
    def change(tags: List[str]) -> List[str]:
        binary = ("O" if tag == "O" else "ENTITY" for tag in tags)
        return [options.hide_as if draw.random() < options.share else tag for tag in binary]

    return _with_tags(options.file, change)


def _miss_entities(options: argparse.Namespace, draw: random.Random) -> str:
    def change(tags: List[str]) -> List[str]:
        left = list(tags)
        for _, (first, last) in tags_to_spans(tags, "BIO"):
            if draw.random() < options.share:
                left[first : last + 1] = ["O"] * (last + 1 - first)
        return left

    return _with_tags(options.file, change)


def _with_tags(file: Path, change: Callable[[List[str]], List[str]]) -> str:
    """Returns a column file with tags replaced by the result of `change` for each sentence."""
    lines: List[str] = []
    with file.open("rb") as stream:
        for sentence in read_sentences(stream, file):
            tags = change([row.columns[-1] for row in sentence])
            lines += [f"{row.columns[0]}\t{tag}\n" for row, tag in zip(sentence, tags)]
            lines.append("\n")
    return "".join(lines)


def _thin_label(options: argparse.Namespace, draw: random.Random) -> str:
    lines = options.file.read_text(encoding="utf-8").splitlines()
    groups = itertools.groupby(lines, key=lambda line: bool(line.strip()))
    sentences = [list(group) for is_sentence, group in groups if is_sentence]
    holding = [
        number
        for number, sentence in enumerate(sentences)
        if any(line.split()[-1].partition("-")[2] == options.label for line in sentence)
    ]
    if not holding:
        raise ValueError(f"{options.file} has no sentence with the label {options.label}")
    dropped = {*holding} - {*draw.sample(holding, math.ceil(options.share * len(holding)))}
    kept = (sentence for number, sentence in enumerate(sentences) if number not in dropped)
    return "".join("\n".join(sentence) + "\n\n" for sentence in kept)


def _split_labels(options: argparse.Namespace) -> str:
    with options.file.open("rb") as stream:
        sentences = list(read_sentences(stream, options.file))
    step = round(1 / options.share)
    kept = [rows for number, rows in enumerate(sentences) if number // 40 % step == 0]
    halves = [[rows for i, rows in enumerate(kept) if i // 40 % 2 == half] for half in (0, 1)]
    spans = [tags_to_spans([row.columns[-1] for row in rows], "IOB1") for rows in kept]
    every = {label for of_sentence in spans for label, _ in of_sentence}
    first = set(options.label.split(","))
    labels = [sorted(first), sorted(every - first)]
    texts = [_text_of(half, own) for half, own in zip(halves, labels)]
    files = {"a": texts[0], "b": texts[1], "absent": "".join(texts), "full": _text_of(kept, every)}
    options.target.parent.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        options.target.with_name(f"{name}.txt").write_text(text, encoding="utf-8")
    listed = [{"path": f"{name}.txt", "labels": own} for name, own in zip("ab", labels)]
    return json.dumps({"files": listed}) + "\n"


def _text_of(sentences: Sequence[Sequence[Row]], labels: Collection[str]) -> str:
    """A column file in BIO of the entities of some labels."""
    lines = []
    for rows in sentences:
        spans = tags_to_spans([row.columns[-1] for row in rows], "IOB1")
        tags = spans_to_tags([span for span in spans if span[0] in labels], len(rows), "BIO")
        lines += [f"{row.columns[0]}\t{tag}\n" for row, tag in zip(rows, tags)]
        lines.append("\n")
    return "".join(lines)


def _hide_labels(options: argparse.Namespace, draw: random.Random) -> str:
    documents = _read(options.file)
    # Drawn separately for each label, so that a larger share hides the same labels and more.
    kept = [
        [label for label in document["labels"] if draw.random() >= options.share]
        for document in documents
    ]
    is_left = {label for labels in kept for label in labels}
    for document, labels in zip(documents, kept):
        document["labels"] = [
            label for label in document["labels"] if label in labels or label not in is_left
        ]
        is_left.update(document["labels"])
    return "".join(json.dumps(document) + "\n" for document in documents)


def _read(path: Path) -> List[Dict[str, Any]]:
    documents = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            document = json.loads(line or "null")
        except ValueError:
            document = None
        if isinstance(document, dict) and isinstance(document.get("labels"), list):
            documents.append(document)
        elif line.strip():
            raise ValueError(
                f"{path}:{number}: expected a JSON object with a list of `labels`; got {line[:80]}"
            )
    return documents


CHANGES: Dict[str, Callable[[argparse.Namespace, random.Random], str]] = {
    "hide-labels": _hide_labels,
    "hide-tokens": _hide_tokens,
    "miss-entities": _miss_entities,
    "split-labels": lambda options, _: _split_labels(options),
    "thin-label": _thin_label,
}

if __name__ == "__main__":
    main()
