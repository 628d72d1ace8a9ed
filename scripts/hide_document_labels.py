#!/usr/bin/env python
"""Hides labels of documents, as if their annotators had missed them, to measure what that costs.

    python scripts/hide_document_labels.py data/reuters/train.jsonl TARGET --share 0.3 [--seed 0]

Each line of FILE is a JSON object with a list of `labels`. A share of all labels of all documents is
left out, each drawn by itself; a document may lose all its labels. If a label would be lost by all its
documents, the first of them keeps it, so that the labels of the corpus stay the same. The same seed
hides the same labels, and those of a smaller share are among those of a larger one.
"""

import json
import random
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from scripts.changed_copies import new_parser, parse, write


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = new_parser(__doc__, "lines of JSON with `labels`")
    parser.add_argument("--share", type=float, required=True, help="of labels to hide")
    options = parse(parser, arguments)
    try:
        documents = _read(options.file)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    num_labels = sum(len(document["labels"]) for document in documents)
    num_hidden = hide(documents, options.share, options.seed)
    write(options.target, (json.dumps(document) + "\n" for document in documents))
    print(f"{options.target}: {num_hidden:,} of {num_labels:,} labels hidden")


def hide(documents: Sequence[Dict[str, Any]], share: float, seed: int) -> int:
    """Takes labels out of documents, and returns how many."""
    generator = random.Random(seed)
    kept: List[List[str]] = []
    first: Dict[str, Tuple[int, bool]] = {}
    for number, document in enumerate(documents):
        # Drawn for each label, so that a smaller share hides some of the same.
        kept.append([label for label in document["labels"] if generator.random() >= share])
        for label in document["labels"]:
            at, is_kept = first.get(label, (number, False))
            first[label] = at, is_kept or label in kept[-1]
    lost = {(at, label) for label, (at, is_kept) in first.items() if not is_kept}
    num_hidden = 0
    for number, document in enumerate(documents):
        labels = [
            label
            for label in document["labels"]
            if label in kept[number] or (number, label) in lost
        ]
        num_hidden += len(document["labels"]) - len(labels)
        document["labels"] = labels
    return num_hidden


def _read(path: Path) -> List[Dict[str, Any]]:
    documents = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}:{number}: expected a JSON object; {error}") from None
        if not isinstance(document, dict) or not isinstance(document.get("labels"), list):
            raise ValueError(
                f"{path}:{number}: expected a JSON object with a list of `labels`; got {line[:80]}"
            )
        documents.append(document)
    return documents


if __name__ == "__main__":
    main()
