"""The inputs of `agreement` and of `merge-labels`."""

import argparse
from typing import TYPE_CHECKING, Dict, List, Set

from tagger.commands.command import add_shared, column

if TYPE_CHECKING:
    from tagger.data.sources.annotations import SourcedText


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Adds the files of sources, and how they are read."""
    text = (
        "files or folders with the annotations of several sources, or of one source each; "
        "NAME=FILE names the source"
    )
    parser.add_argument("inputs", nargs="+", metavar="FILE", help=text)
    text = "the format of all files; by default it is recognised"
    parser.add_argument("--from", "--input-format", dest="source", metavar="FORMAT", help=text)
    text = "the columns of a column file with the tags of a source each, from 0, or their names"
    parser.add_argument("--tag-columns", nargs="+", type=column, default=[], help=text)
    add_shared(parser, "--token-column", "--text-encoding", "--offsets", "--label-names")


def paths_of(inputs: List[str]) -> List[str]:
    """Returns the paths of files, without the names of sources."""
    return [each.partition("=")[2] or each for each in inputs]


def read_inputs(args: argparse.Namespace) -> "List[SourcedText]":
    """Reads what the arguments of `add_inputs` name.

    Raises:
        ValueError: If labels differ only in case.
    """
    from tagger.data.reading import Reading
    from tagger.data.sources.joining import join_sources

    names = ("token_column", "text_encoding", "offsets", "label_names")
    given = {"format": args.source, **{name: getattr(args, name) for name in names}}
    texts = join_sources(args.inputs, Reading.of(given), args.tag_columns)
    _check_spelling(texts)
    return texts


def _check_spelling(texts: "List[SourcedText]") -> None:
    # The sources of each label
    givers: Dict[str, Set[str]] = {}
    for text in texts:
        for source, found in text.annotations.items():
            for label in {each.label for each in found}:
                givers.setdefault(label, set()).add(source)
    spelt: Dict[str, str] = {}
    for label in sorted(givers):
        other = spelt.setdefault(label.lower(), label)
        if other != label:
            one, two = (
                f"`{each}` (from {', '.join(sorted(givers[each]))})" for each in (other, label)
            )
            raise ValueError(
                f"the labels {one} and {two} differ only in case; rename one of them in its file, or, "
                "for a source of `allennlp label-with`, by its setting `labels`"
            )
