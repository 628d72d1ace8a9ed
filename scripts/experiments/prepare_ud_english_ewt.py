#!/usr/bin/env python
"""Turns Universal Dependencies' English Web Treebank into column files of words and parts of speech.

    git clone https://github.com/UniversalDependencies/UD_English-EWT
    python scripts/experiments/prepare_ud_english_ewt.py UD_English-EWT [--target FOLDER] [--force]

It works for other treebanks, too: each file `...-ud-train.conllu` becomes `train.txt`, and so on.
"""

import argparse
from pathlib import Path
from typing import Iterator, List, Optional, Sequence, Tuple

from tagger.common.files import write_atomically

LICENCE = """\
The annotations of the English Web Treebank are (c) The Board of Trustees of The Leland Stanford Junior
University, under CC BY-SA 4.0. Its texts come from the web; the treebank's README says more.
"""
TARGET = Path(__file__).resolve().parents[2] / "data" / "ud_english_ewt"
PARTS = ("train", "dev", "test")
#: The columns of CoNLL-U: https://universaldependencies.org/format.html
_NUM_COLUMNS, _ID, _FORM, _UPOS = 10, 0, 1, 3


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog=LICENCE)
    parser.add_argument("source", type=Path, metavar="SOURCE", help="a folder with the treebank")
    parser.add_argument("--target", type=Path, default=TARGET, metavar="FOLDER")
    parser.add_argument("--force", action="store_true", help="replace files that differ")
    options = parser.parse_args(arguments)
    print(LICENCE)
    texts = {}
    for part in PARTS:
        path = find(options.source, part)
        sentences = list(read(path))
        texts[part] = "".join(
            "".join(f"{word}\t{tag}\n" for word, tag in sentence) + "\n" for sentence in sentences
        )
        num_words = sum(map(len, sentences))
        print(f"{path}: {len(sentences):,} sentences, {num_words:,} words")
    put(texts, options.target, options.force)


def find(source: Path, part: str) -> Path:
    """Returns the path of a part of the treebank."""
    found = sorted(source.glob(f"*-ud-{part}.conllu"))
    if len(found) != 1:
        raise SystemExit(
            f"{source}: expected one file *-ud-{part}.conllu, got {len(found)}; name the folder of one "
            "treebank"
        )
    return found[0]


def read(path: Path) -> Iterator[List[Tuple[str, str]]]:
    """Yields the words of each sentence with their universal parts of speech.

    Words are syntactic words, as in published accuracies: `don't` is `do` and `n't`. So ranges such as
    `1-2`, and words that are not in the text, such as `8.1`, are left out.
    """
    sentence: List[Tuple[str, str]] = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\n").split("\t")
            if not line.strip():
                if sentence:
                    yield sentence
                sentence = []
            elif line.startswith("#"):
                continue
            elif len(cells) != _NUM_COLUMNS:
                raise SystemExit(
                    f"{path}:{number}: expected {_NUM_COLUMNS} cells, separated by tabs; got "
                    f"{len(cells)}: {line.strip()[:80]}; name files in CoNLL-U"
                )
            elif cells[_ID].isdigit():
                # A few words of some treebanks hold a space, which separates columns here.
                sentence.append((cells[_FORM].replace(" ", "\u00a0"), cells[_UPOS]))
    if sentence:
        yield sentence


def put(texts: dict, target: Path, force: bool) -> None:
    """Writes the parts into `target`, except those that are already there."""
    target.mkdir(parents=True, exist_ok=True)
    paths = {target / f"{part}.txt": text for part, text in texts.items()}
    changed = {
        path: text
        for path, text in paths.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    differing = [str(path) for path in changed if path.exists()]
    if differing and not force:
        raise SystemExit(f"{', '.join(differing)} would change; pass `--force` to replace them")
    for path, text in changed.items():
        with write_atomically(path, overwrite=True) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    names = ", ".join(path.name for path in changed)
    print(f"{target}: wrote {names}" if changed else f"{target}: all there already")


if __name__ == "__main__":
    main()
