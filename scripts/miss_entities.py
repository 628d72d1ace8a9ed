#!/usr/bin/env python
"""Misses a share of the entities of a column file, as annotators do: their tokens get the tag `O`.

    python scripts/miss_entities.py data/wnut17/wnut17train.conll data/wnut17_missed/train.txt

The same seed misses the same entities. Tags are BIO.
"""

import random
from collections import Counter
from typing import List, Optional, Sequence

from scripts.changed_copies import new_parser, parse, write_with_tags
from tagger.spans import tags_to_spans


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = new_parser(__doc__, "a column file, its tags last")
    parser.add_argument("--share", type=float, default=0.5, help="of entities; .5 by default")
    options = parse(parser, arguments)
    generator, numbers = random.Random(options.seed), Counter[str]()

    def miss(tags: List[str]) -> List[str]:
        left = list(tags)
        for _, (first, last) in tags_to_spans(tags, "BIO"):
            is_missed = generator.random() < options.share
            numbers.update(entities=1, missed=is_missed)
            if is_missed:
                left[first : last + 1] = ["O"] * (last + 1 - first)
        return left

    write_with_tags(options, miss)
    print(f"{options.target}: {numbers['missed']:,} of {numbers['entities']:,} entities missed")


if __name__ == "__main__":
    main()
