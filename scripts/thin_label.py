#!/usr/bin/env python
"""Makes a label of a column file rare, to measure what helps rare labels.

    python scripts/thin_label.py data/conll2003/eng.train data/conll2003_thin/train.txt MISC --share 0.01

Of the sentences that hold the label it keeps a share, drawn at random; the same seed draws the same
ones. All other sentences, and lines that mark documents, stay as they are.
"""

import itertools
import math
import random
from typing import List, Optional, Sequence

from scripts.changed_copies import new_parser, parse, write


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = new_parser(__doc__, "a column file, its tags last")
    parser.add_argument("label", metavar="LABEL", help="the label to thin")
    parser.add_argument(
        "--share", type=float, default=0.01, help="of its sentences to keep; .01 by default"
    )
    options = parse(parser, arguments)
    try:
        text = options.file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SystemExit(f"cannot read {options.file}: {error}") from None
    sentences = _sentences(text)
    holding = [i for i, lines in enumerate(sentences) if _holds(lines, options.label)]
    if not holding:
        raise SystemExit(f"{options.file} has no sentence with the label {options.label}")
    num_kept = math.ceil(options.share * len(holding))
    dropped = {*holding} - {*random.Random(options.seed).sample(holding, num_kept)}
    kept = [lines for i, lines in enumerate(sentences) if i not in dropped]
    write(options.target, ("\n".join(lines) + "\n\n" for lines in kept))
    print(f"{options.target}: {len(kept):,} blocks, {num_kept:,} with {options.label}")


def _sentences(text: str) -> List[List[str]]:
    groups = itertools.groupby(text.splitlines(), key=lambda line: bool(line.strip()))
    return [list(lines) for is_sentence, lines in groups if is_sentence]


def _holds(lines: Sequence[str], label: str) -> bool:
    return any(line.split()[-1].partition("-")[2] == label for line in lines)


if __name__ == "__main__":
    main()
