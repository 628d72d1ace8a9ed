"""What the scripts share that write a changed copy of a file of labelled data."""

import argparse
from pathlib import Path
from typing import Callable, Iterable, List, Optional, Sequence

from tagger.data.column_file import read_sentences


def new_parser(description: Optional[str], file: str) -> argparse.ArgumentParser:
    """Returns a parser of FILE, TARGET and `--seed`; `file` says what the first holds."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE", help=file)
    parser.add_argument("target", type=Path, metavar="TARGET", help="the file to write")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def parse(
    parser: argparse.ArgumentParser, arguments: Optional[Sequence[str]]
) -> argparse.Namespace:
    """Parses the command line; ends it if `--share` is no share, or the target is there already."""
    options = parser.parse_args(arguments)
    if not 0 <= options.share <= 1:
        raise SystemExit(f"--share must lie in [0, 1]; got {options.share}")
    if options.target.exists():
        raise SystemExit(f"{options.target} is there already; move it, or name another file")
    return options


def write(target: Path, lines: Iterable[str]) -> None:
    """Writes lines, which end in line feeds, into a file of a folder that may be new."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(lines), encoding="utf-8")


def write_with_tags(options: argparse.Namespace, change: Callable[[List[str]], List[str]]) -> None:
    """Writes the words of a column file with the tags that `change` makes of those of each sentence."""
    lines: List[str] = []
    try:
        with options.file.open("rb") as file:
            for sentence in read_sentences(file, options.file):
                tags = change([row.columns[-1] for row in sentence])
                lines += [f"{row.columns[0]}\t{tag}\n" for row, tag in zip(sentence, tags)]
                lines.append("\n")
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    write(options.target, lines)
