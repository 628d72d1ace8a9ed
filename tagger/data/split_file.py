"""Splits a file into train, dev and test so that each part has its share of each label."""

import json
from collections import Counter
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Set

from tagger.common.files import check_is_file, write_atomically
from tagger.data.column_file import read_sentences
from tagger.data.formats import read_texts
from tagger.data.formats.span_records import prodigy_record
from tagger.data.stratified_split import stratified_split
from tagger.spans import labels_of_tags

PARTS = ("train", "dev", "test")


class Item(NamedTuple):
    """A sentence or a document: its text as in the file, and its labels."""

    text: str
    labels: Set[str]


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
    check_is_file(path)
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
    check_is_file(path)
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


def read_annotated(path: Path, format: str) -> List[Item]:
    """Returns the texts of a file in a format of `tagger.data.formats`, as Prodigy's JSON lines.

    Raises:
        ValueError: If a text is not as expected, or if there is none; the message says where.
    """
    items = [
        Item(
            json.dumps(prodigy_record(text), ensure_ascii=False),
            {entity.label for entity in text.entities},
        )
        for text in read_texts(path, format)
    ]
    if not items:
        raise ValueError(f"{path}: expected annotated texts in the format {format}, got none")
    return items


def paths_of_parts(folder: Path, suffix: str, shares: Sequence[float]) -> Dict[str, Path]:
    """Returns the files of the parts, of `PARTS`, whose share is above 0.

    Raises:
        FileExistsError: If one of them exists.
    """
    paths = {name: folder / f"{name}{suffix}" for name, share in zip(PARTS, shares) if share != 0}
    for path in paths.values():
        if path.exists():
            raise FileExistsError(f"{path} is there already; move it, or name another folder")
    return paths


def split_items(
    items: Sequence[Item], shares: Sequence[float], seed: int = 0
) -> Dict[str, List[Item]]:
    """Returns the items of each part, of `PARTS`, whose share is above 0, in their order.

    Raises:
        ValueError: If a share is below 0, or all are 0.
    """
    parts = {name: share for name, share in zip(PARTS, shares) if share != 0}
    assigned = stratified_split([item.labels for item in items], list(parts.values()), seed)
    return {
        name: [item for item, part in zip(items, assigned) if part == index]
        for index, name in enumerate(parts)
    }


def write_parts(
    split: Mapping[str, Sequence[Item]],
    paths: Mapping[str, Path],
    separator: str,
    overwrite: bool = False,
) -> None:
    """Writes the items of each part to its file, in UTF-8, each followed by the separator.

    A folder that is missing is made.

    Raises:
        FileExistsError: If a file exists, unless `overwrite` is true.
    """
    for name, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(path, overwrite) as new:
            new.write_bytes("".join(item.text + separator for item in split[name]).encode())


def summarize(split: Mapping[str, Sequence[Item]]) -> str:
    """Returns a table of the number of items with each label in each part, most frequent first."""
    counts_of = [
        Counter(label for item in items for label in item.labels) for items in split.values()
    ]
    rows = {label: [counts[label] for counts in counts_of] for label in set().union(*counts_of)}
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
