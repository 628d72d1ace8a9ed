#!/usr/bin/env python
"""Checks a copy of the English CoNLL-2003 corpus and copies it to the folder that the configs use.

    python scripts/experiments/prepare_conll2003.py SOURCE [--target FOLDER] [--force]

SOURCE is a folder with `eng.train`, `eng.testa` and `eng.testb`, or `train.txt`, `valid.txt` and
`test.txt`.
"""

import argparse
import shutil
from pathlib import Path
from typing import Dict, NamedTuple, Optional, Sequence, cast

from tagger.data import ColumnDatasetReader, TagField
from tagger.spans import tags_to_spans

LICENCE = """\
The text of CoNLL-2003 is (c) Reuters and for research use only: ask NIST for the Reuters Corpus (RCV1,
https://trec.nist.gov/data/reuters/reuters.html). The annotation is that of the CoNLL-2003 shared task
(https://www.clips.uantwerpen.be/conll2003/ner/). This project distributes neither of them.
"""
TARGET = Path(__file__).resolve().parents[2] / "data" / "conll2003"


class Counts(NamedTuple):
    """The numbers of sentences, tokens and entities of a file."""

    sentences: int
    tokens: int
    entities: int

    def __str__(self) -> str:
        return f"{self.sentences:,} sentences, {self.tokens:,} tokens, {self.entities:,} entities"


EXPECTED = {
    "eng.train": Counts(14_041, 203_621, 23_499),
    "eng.testa": Counts(3_250, 51_362, 5_942),
    "eng.testb": Counts(3_453, 46_435, 5_648),
}
OTHER_NAMES = {
    "eng.train": ["train.txt"],
    "eng.testa": ["valid.txt", "dev.txt"],
    "eng.testb": ["test.txt"],
}


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog=LICENCE)
    parser.add_argument("source", type=Path, metavar="SOURCE", help="a folder with your copy")
    parser.add_argument("--target", type=Path, default=TARGET, metavar="FOLDER")
    parser.add_argument("--force", action="store_true", help="replace files that differ")
    options = parser.parse_args(arguments)
    print(LICENCE)
    copies = find(options.source)
    check(copies)
    put(copies, options.target, options.force)


def find(source: Path) -> Dict[str, Path]:
    """Returns the path of each file of the corpus, by its original name."""
    copies = {}
    for name, others in OTHER_NAMES.items():
        paths = [source / candidate for candidate in [name, *others]]
        found = next((path for path in paths if path.is_file()), None)
        if found is None:
            raise SystemExit(
                f"{source}: expected a file {' or '.join(path.name for path in paths)}, got none; "
                "name the folder with the three files of the English corpus"
            )
        copies[name] = found
    return copies


def check(copies: Dict[str, Path]) -> None:
    """Prints the counts of each file.

    Raises:
        SystemExit: If a file cannot be read or its counts differ from the known ones.
    """
    differ = False
    for name, path in copies.items():
        try:
            counts = count(path)
        except ValueError as error:
            raise SystemExit(str(error)) from None
        differ |= counts != EXPECTED[name]
        expected = "as expected" if counts == EXPECTED[name] else f"expected {EXPECTED[name]}"
        print(f"{path}: {counts}; {expected}")
    if differ:
        raise SystemExit(
            "This is not the corpus as distributed, so results on it cannot be compared with published "
            "ones; nothing was copied. Build the corpus again from its distribution"
        )


def count(path: Path) -> Counts:
    """Counts the sentences, tokens and entities of a file."""
    sentences = tokens = entities = 0
    for instance in ColumnDatasetReader(source_encoding="IOB1").read(path):
        tags = cast(TagField, instance["tags"]).labels
        sentences += 1
        tokens += len(tags)
        entities += len(tags_to_spans(tags, "IOB1"))
    return Counts(sentences, tokens, entities)


def put(copies: Dict[str, Path], target: Path, force: bool) -> None:
    """Copies the files into `target`, except those that are already there."""
    target.mkdir(parents=True, exist_ok=True)
    missing = {
        name: path
        for name, path in copies.items()
        if not (target / name).exists() or (target / name).read_bytes() != path.read_bytes()
    }
    differing = [str(target / name) for name in missing if (target / name).exists()]
    if differing and not force:
        raise SystemExit(f"{', '.join(differing)} would change; pass `--force` to replace them")
    for name, path in missing.items():
        shutil.copyfile(path, target / name)
    print(f"{target}: {', '.join(missing)} copied" if missing else f"{target}: all there already")


if __name__ == "__main__":
    main()
