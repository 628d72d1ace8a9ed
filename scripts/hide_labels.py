#!/usr/bin/env python
"""Reduces a column file to binary tags and hides some of them, to measure what unknown labels cost.

    python scripts/hide_labels.py data/wnut17/wnut17train.conll data/wnut17_binary/train.txt
    python scripts/hide_labels.py FILE TARGET --share 0.3 --hide-as '?' [--seed 0]

A token in any span becomes an `ENTITY`, every other token an `O`. Then a share of all tokens, `--share`,
gets the tag `--hide-as` instead: `?` for unknown, or `O`, as in data whose annotators overlooked some
entities. The same seed hides the same tokens.
"""

import argparse
import random
from pathlib import Path
from typing import Optional, Sequence

from tagger.data.column_file import read_sentences

ENTITY, OUTSIDE = "ENTITY", "O"


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    if not 0 <= options.share <= 1:
        raise SystemExit(f"--share must lie in [0, 1]; got {options.share}")
    if options.target.exists():
        raise SystemExit(f"{options.target} is there already; move it, or name another file")
    generator = random.Random(options.seed)
    lines, num_tokens, num_hidden = [], 0, 0
    try:
        with options.file.open("rb") as file:
            for sentence in read_sentences(file, options.file):
                for row in sentence:
                    tag = OUTSIDE if row.columns[-1] == OUTSIDE else ENTITY
                    is_hidden = generator.random() < options.share
                    lines.append(f"{row.columns[0]}\t{options.hide_as if is_hidden else tag}\n")
                    num_tokens += 1
                    num_hidden += is_hidden
                lines.append("\n")
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    options.target.parent.mkdir(parents=True, exist_ok=True)
    options.target.write_text("".join(lines), encoding="utf-8")
    print(f"{options.target}: {num_tokens:,} tokens, {num_hidden:,} hidden as {options.hide_as!r}")


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a column file, its tags last")
    parser.add_argument("target", type=Path, metavar="TARGET", help="the file to write")
    parser.add_argument(
        "--share", type=float, default=0.0, help="of tokens to hide; none by default"
    )
    parser.add_argument("--hide-as", default="?", metavar="TAG")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
