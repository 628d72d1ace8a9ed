#!/usr/bin/env python
"""Makes a label of a column file rare, to measure what helps rare labels.

    python scripts/thin_label.py data/conll2003/eng.train data/conll2003_thin/train.txt MISC --share 0.01

Of the sentences that hold the label it keeps a share, drawn at random; the same seed draws the same
ones. All other sentences, and lines that mark documents, stay as they are.
"""

import argparse
import itertools
import math
import random
from pathlib import Path
from typing import List, Optional, Sequence


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    if not 0 <= options.share <= 1:
        raise SystemExit(f"--share must lie in [0, 1]; got {options.share}")
    if options.target.exists():
        raise SystemExit(f"{options.target} is there already; move it, or name another file")
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
    options.target.parent.mkdir(parents=True, exist_ok=True)
    options.target.write_text("".join("\n".join(lines) + "\n\n" for lines in kept), "utf-8")
    print(f"{options.target}: {len(kept):,} blocks, {num_kept:,} with {options.label}")


def _sentences(text: str) -> List[List[str]]:
    groups = itertools.groupby(text.splitlines(), key=lambda line: bool(line.strip()))
    return [list(lines) for is_sentence, lines in groups if is_sentence]


def _holds(lines: Sequence[str], label: str) -> bool:
    return any(line.split()[-1].partition("-")[2] == label for line in lines)


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a column file, its tags last")
    parser.add_argument("target", type=Path, metavar="TARGET", help="the file to write")
    parser.add_argument("label", metavar="LABEL", help="the label to thin")
    parser.add_argument(
        "--share", type=float, default=0.01, help="of its sentences to keep; .01 by default"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
