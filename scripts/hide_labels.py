#!/usr/bin/env python
"""Reduces a column file to binary tags and hides some of them, to measure what unknown labels cost.

    python scripts/hide_labels.py data/wnut17/wnut17train.conll data/wnut17_binary/train.txt
    python scripts/hide_labels.py FILE TARGET --share 0.3 --hide-as '?' [--seed 0]

A token in any span becomes an `ENTITY`, every other token an `O`. Then a share of all tokens, `--share`,
gets the tag `--hide-as` instead: `?` for unknown, or `O`, as in data whose annotators overlooked some
entities. The same seed hides the same tokens.
"""

import random
from collections import Counter
from typing import List, Optional, Sequence

from scripts.changed_copies import new_parser, parse, write_with_tags

ENTITY, OUTSIDE = "ENTITY", "O"


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = new_parser(__doc__, "a column file, its tags last")
    add = parser.add_argument
    add("--share", type=float, default=0.0, help="of tokens to hide; none by default")
    add("--hide-as", default="?", metavar="TAG")
    options = parse(parser, arguments)
    generator, numbers = random.Random(options.seed), Counter[str]()

    def hide(tags: List[str]) -> List[str]:
        are_hidden = [generator.random() < options.share for _ in tags]
        numbers.update(tokens=len(tags), hidden=sum(are_hidden))
        return [
            options.hide_as if is_hidden else OUTSIDE if tag == OUTSIDE else ENTITY
            for tag, is_hidden in zip(tags, are_hidden)
        ]

    write_with_tags(options, hide)
    print(
        f"{options.target}: {numbers['tokens']:,} tokens, {numbers['hidden']:,} hidden as "
        f"{options.hide_as!r}"
    )


if __name__ == "__main__":
    main()
