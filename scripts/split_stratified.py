#!/usr/bin/env python
"""Splits a data set so that train, dev and test have their share of each label.

    python scripts/split_stratified.py FILE FOLDER [--shares 0.8 0.1 0.1] [--seed 0]
    python scripts/split_stratified.py documents.jsonl FOLDER --label-key topics

FILE is a column file, whose sentences are split by the labels of their tags. With `--label-key` it is a
file of JSON objects, one on each line, with a list of labels under that key. FOLDER gets `train`, `dev`
and `test` with the suffix of FILE, each in the order of FILE. A share of 0 makes no file. Nothing is
overwritten. Lines `-DOCSTART-` are left out. Copies of a sentence may go to different parts.
"""

import argparse
import json
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

from tagger.data.column_file import read_sentences
from tagger.data.stratified_split import stratified_split
from tagger.spans import labels_of_tags

PARTS = ("train", "dev", "test")


class Item(NamedTuple):
    """A sentence or a document: its text as in the file, and its labels."""

    text: str
    labels: Set[str]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    parts = {name: share for name, share in zip(PARTS, options.shares) if share != 0}
    paths = {name: options.folder / f"{name}{options.file.suffix}" for name in parts}
    for path in paths.values():
        if path.exists():
            raise SystemExit(f"{path} is there already; move it, or name another folder")
    try:
        items = (
            read_documents(options.file, options.label_key)
            if options.label_key
            else read_column_file(
                options.file, options.tag_column, options.label_separator, options.unknown_tag
            )
        )
        assigned = stratified_split(
            [item.labels for item in items], list(parts.values()), options.seed
        )
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    split = {
        name: [item for item, part in zip(items, assigned) if part == index]
        for index, name in enumerate(parts)
    }
    options.folder.mkdir(parents=True, exist_ok=True)
    separator = "\n" if options.label_key else "\n\n"
    for name, path in paths.items():
        text = "".join(item.text + separator for item in split[name])
        path.write_bytes(text.encode("utf-8"))
    print(f"Wrote {', '.join(path.name for path in paths.values())} to {options.folder}\n")
    print(summarize(split))


def read_column_file(
    path: Path,
    tag_column: int = -1,
    label_separator: Optional[str] = None,
    unknown_tag: Optional[str] = None,
) -> List[Item]:
    """Returns the sentences of a column file. The arguments are those of the dataset reader `column`.

    Raises:
        ValueError: If the file is no column file, or has no such column.
    """
    with path.open("rb") as lines:
        sentences = list(read_sentences(lines, path))
    num_columns = len(sentences[0][0].columns)
    if not -num_columns <= tag_column < num_columns:
        raise ValueError(
            f"{path}:{sentences[0][0].number}: expected tags in column {tag_column}, got "
            f"{sentences[0][0].columns}; correct `--tag-column`"
        )
    tag_sets = [
        {
            tag
            for row in sentence
            for tag in row.columns[tag_column].split(label_separator or "\0")
            if unknown_tag is None or not tag.startswith(unknown_tag)
        }
        for sentence in sentences
    ]
    tags = sorted(set().union(*tag_sets))
    label_of = dict(zip(tags, labels_of_tags(tags)))
    return [
        Item(
            "\n".join(row.text for row in sentence),
            {label for label in map(label_of.get, tag_set) if label is not None},
        )
        for sentence, tag_set in zip(sentences, tag_sets)
    ]


def read_documents(path: Path, label_key: str) -> List[Item]:
    """Returns the documents of a file that holds one JSON object on each line.

    Raises:
        ValueError: If a line is no JSON object, or its labels are no list of strings.
    """
    items = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            labels = json.loads(line)[label_key]
        except (json.JSONDecodeError, KeyError, TypeError):
            labels = None
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise ValueError(
                f"{path}:{number}: expected a JSON object with a list of strings under "
                f"{label_key!r}, got {line[:200]!r}; correct the line or `--label-key`"
            )
        items.append(Item(line.rstrip("\r"), set(labels)))
    if not items:
        raise ValueError(f"{path}: expected a JSON object on each line, got none at all")
    return items


def summarize(split: Dict[str, List[Item]]) -> str:
    """Returns a table of the number of items with each label in each part, most frequent first."""
    rows = {
        label: [sum(label in item.labels for item in items) for items in split.values()]
        for label in {label for items in split.values() for item in items for label in item.labels}
    }
    rows = dict(sorted(rows.items(), key=lambda row: (-sum(row[1]), row[0])))
    rows["(no label)"] = [sum(not item.labels for item in items) for items in split.values()]
    rows["all"] = [len(items) for items in split.values()]
    width = max(map(len, rows))
    lines = [f"{'':{width}}" + "".join(f"{name:>16}" for name in split)]
    lines += [
        f"{label:{width}}"
        + "".join(f"{count:7} ({count / max(sum(counts), 1):6.1%})" for count in counts)
        for label, counts in rows.items()
    ]
    return "\n".join(lines)


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--shares", type=float, nargs=3, default=[0.8, 0.1, 0.1], metavar=("TRAIN", "DEV", "TEST")
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--label-key", metavar="KEY", help="of the labels, in files of JSON lines")
    parser.add_argument("--tag-column", type=int, default=-1, help="of a column file, from 0")
    parser.add_argument(
        "--label-separator", help="between two labels of a token, if it has several"
    )
    parser.add_argument("--unknown-tag", help="the string that marks what is unknown")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
