#!/usr/bin/env python
"""Checks a copy of Reuters-21578 (ApteMod, 90 labels) and writes it to the folder that the configs use.

    python scripts/experiments/prepare_reuters.py SOURCE [--target FOLDER]

SOURCE is a folder with one file `*train.jsonl` and one `*test.jsonl`. Each line is a document, a JSON
object with an `id`, a `title`, a `text`, which may be empty, and a list of `labels`. The corpus has no
development set: a tenth of the training documents, chosen by a hash of their ids, becomes one.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

LICENCE = """\
Reuters-21578 is (c) Reuters Ltd. and for research use only; see
https://www.daviddlewis.com/resources/testcollections/reuters21578/. This project does not distribute it.
"""
EXPECTED = {"train": 7_770, "test": 3_019}
NUM_LABELS = 90
TARGET = Path(__file__).resolve().parents[2] / "data" / "reuters"

Document = Dict[str, Any]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Checks the corpus and writes its parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--target", type=Path, default=TARGET)
    options = parser.parse_args(arguments)
    print(LICENCE)
    documents = {part: read(options.source, part) for part in EXPECTED}
    check(documents)
    train = documents["train"]
    parts = {
        "train": [document for document in train if not is_development(document)],
        "dev": [document for document in train if is_development(document)],
        "test": documents["test"],
    }
    options.target.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        path = options.target / f"{name}.jsonl"
        path.write_text("".join(json.dumps(document) + "\n" for document in part))
        print(f"{path}: {len(part):,} documents, {len(labels_of(part))} labels")


def read(source: Path, part: str) -> List[Document]:
    """Reads the documents of one part.

    Raises:
        SystemExit: If there is not exactly one file of that part, or if a line is not a document.
    """
    paths = sorted(source.glob(f"*{part}.jsonl"))
    if len(paths) != 1:
        raise SystemExit(
            f"{source}: expected one file *{part}.jsonl, got {len(paths)}; name the folder that has it"
        )
    documents = []
    for number, line in enumerate(paths[0].read_text(encoding="utf-8").splitlines(), start=1):
        try:
            document = json.loads(line)
            documents.append({key: document[key] for key in ("id", "title", "text", "labels")})
        except (ValueError, KeyError, TypeError) as error:
            raise SystemExit(
                f"{paths[0]}:{number}: expected a JSON object with `id`, `title`, `text` and `labels`: "
                f"{error}"
            ) from None
    return documents


def check(documents: Dict[str, List[Document]]) -> None:
    """Checks the numbers of documents and labels against the known ones."""
    for part, expected in EXPECTED.items():
        found, num_labels = len(documents[part]), len(labels_of(documents[part]))
        if found != expected or num_labels != NUM_LABELS:
            raise SystemExit(
                f"{part}: {found} documents of {num_labels} labels, expected {expected} of "
                f"{NUM_LABELS}; results would not compare with published ones, so nothing was written"
            )


def labels_of(documents: List[Document]) -> List[str]:
    """Returns the labels of the documents, sorted."""
    return sorted({label for document in documents for label in document["labels"]})


def is_development(document: Document) -> bool:
    """Whether a training document goes into the development set; the same on every machine."""
    return hashlib.sha256(document["id"].encode()).digest()[0] < 26


if __name__ == "__main__":
    main()
