#!/usr/bin/env python
"""Misses a share of the entities of a column file, as annotators do: their tokens get the tag `O`.

    python scripts/miss_entities.py data/wnut17/wnut17train.conll data/wnut17_missed/train.txt

The same seed misses the same entities. Tags are BIO.
"""

import argparse
import random
from pathlib import Path
from typing import List, Optional, Sequence

from tagger.data.column_file import read_sentences
from tagger.spans import tags_to_spans


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    if not 0 <= options.share <= 1:
        raise SystemExit(f"--share must lie in [0, 1]; got {options.share}")
    if options.target.exists():
        raise SystemExit(f"{options.target} is there already; move it, or name another file")
    generator = random.Random(options.seed)
    lines: List[str] = []
    num_entities = num_missed = 0
    try:
        with options.file.open("rb") as file:
            for sentence in read_sentences(file, options.file):
                tags = [row.columns[-1] for row in sentence]
                for _, (first, last) in tags_to_spans(tags, "BIO"):
                    num_entities += 1
                    if generator.random() < options.share:
                        num_missed += 1
                        tags[first : last + 1] = ["O"] * (last + 1 - first)
                lines += [f"{row.columns[0]}\t{tag}\n" for row, tag in zip(sentence, tags)]
                lines.append("\n")
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    options.target.parent.mkdir(parents=True, exist_ok=True)
    options.target.write_text("".join(lines), encoding="utf-8")
    print(f"{options.target}: {num_missed:,} of {num_entities:,} entities missed")


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a column file, its tags last")
    parser.add_argument("target", type=Path, metavar="TARGET", help="the file to write")
    parser.add_argument("--share", type=float, default=0.5, help="of entities; .5 by default")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
