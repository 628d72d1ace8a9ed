"""The subcommand `allennlp merge-labels anna=anna.conll ben=ben.conll -o merged.conll`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, List

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError, check_for_gpu

from tagger.commands.command import Command, add_shared
from tagger.common.console import say, say_lines, topics
from tagger.common.files import write_atomically
from tagger.common.locations import check_output
from tagger.common.ranges import check_number
from tagger.data.formats import FORMATS, OPEN, format_of_path, replace_by_texts
from tagger.data.formats.annotated_text import UNKNOWN_TAG
from tagger.tools.sources.commands.inputs import add_inputs, paths_of, read_inputs
from tagger_texts.display import aligned

if TYPE_CHECKING:
    from tagger.tools.sources.merging import Merged

#: Sources with so many entities, of which less than this share are among the merged ones, are named.
_MANY, _REFUSED = 20, 0.05


@Subcommand.register("merge-labels")
class MergeLabels(Command):
    """Merge the labels of several annotators, models, rules and lists.

    Find out how reliable each source is, without gold labels, and write the most probable labels, or
    probabilities of labels to train on. Copies and sources that are no better than chance are named.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add_inputs(parser)
        add("-o", "--output", type=Path, required=True, help="the file to write")
        text = "the format of the output; by default by its name"
        add("--to", "--format", dest="target", choices=FORMATS, metavar="FORMAT", help=text)
        methods = ("hidden_chain", "dawid_skene", "majority", "union")
        text = (
            "how to merge: `hidden_chain` (the default) weighs sources by what they confuse and miss, "
            "`dawid_skene` does the same token by token; `majority` and `union` count votes"
        )
        add("--method", choices=methods, default="hidden_chain", help=text)
        add(
            "--gold", metavar="SOURCE", help="a source that is always right, perhaps on a few texts"
        )
        text = "leave tags open that are less probable than this; by default none but unread ones"
        add("--min-probability", type=float, default=0.0, metavar="P", help=text)
        text = "also write soft labels, for the reader `soft_labelled`"
        add("--soft-labels", type=Path, metavar="FILE", help=text)
        text = "the encoding of the soft labels, which is the student's `tag_encoding`"
        add("--encoding", choices=("BIO", "BIOUL", "BMES", "IOBES"), default="BIOUL", help=text)
        text = (
            "believe a source that leaves a word unlabelled that it labels elsewhere in the document; "
            "by default it has overlooked the word"
        )
        add("--keep-repeats", action="store_true", help=text)
        add_shared(parser, "--cuda-device", "--force")

    def run(self, args: argparse.Namespace) -> None:
        import torch

        from tagger.tools.sources.merging import merge

        least = args.min_probability
        check_number("--min-probability", least, 0 <= least <= 1, "between 0 and 1")
        outputs = [args.output, *([args.soft_labels] if args.soft_labels else [])]
        for number, output in enumerate(outputs):
            check_output(output, [*paths_of(args.inputs), *outputs[:number]], args.force)
        format = args.target or format_of_path(args.output)
        check_for_gpu(args.cuda_device)
        device = torch.device("cpu" if args.cuda_device < 0 else f"cuda:{args.cuda_device}")
        texts = read_inputs(args)
        merged = merge(texts, args.method, args.gold, least, not args.keep_repeats, device)
        has_open = any(OPEN in text.properties for text in merged.texts)
        if has_open and not {"properties", "tokens"} & {*FORMATS[format].keeps}:
            raise ConfigurationError(f"--to {format} cannot leave tags open; write columns")
        counts = replace_by_texts(merged.texts, args.output, format)
        if args.soft_labels:
            with write_atomically(args.soft_labels, args.force) as path:
                merged.soft_labels(args.encoding).save(path)
        say_lines([*described(merged), *topics(counts.lost(), "", 5)])
        for output in outputs:
            say(f"Wrote {output}")


def described(merged: "Merged") -> List[str]:
    """Returns lines with the reliability of each source."""
    rows: List[List[str]] = [
        ["source", "texts", "entities", "precision", "recall", "typical errors"]
    ]
    for name, found in merged.sources.items():
        shares = (found.precision, found.recall)
        errors = ", ".join(f"{error} ({number:,})" for error, number in found.errors)
        numbers = (f"{found.num_texts:,}", f"{found.num_entities:,}")
        spelt = ("-" if share is None else f"{share:.2f}" for share in shares)
        rows.append([name, *numbers, *spelt, errors or "-"])
    lines = [
        *aligned(rows, to_the_left=(0, 5)),
        "Precision and recall are measured against the merged labels, not against gold labels.",
    ]
    for name, found in merged.sources.items():
        if found.copy_of:
            lines.append(
                f"{name} repeats the labels of {found.copy_of}, errors included, and was left out where "
                "both have read a text"
            )
        if found.is_chance:
            lines.append(f"{name} agrees with the others no more than by chance; leave it out")
    refused = [
        name
        for name, found in merged.sources.items()
        if not found.is_chance and found.num_entities >= _MANY and (found.precision or 0) < _REFUSED
    ]
    if refused:
        lines.append(
            f"Hardly any label of {', '.join(refused)} is among the merged ones: no other source labels "
            "these words; if it is right, add a source that finds most entities, such as a tagger, or "
            "take --method union"
        )
    if merged.num_overlooked:
        lines.append(
            f"{merged.num_overlooked:,} words without a label seem overlooked, because the same source "
            "labels them elsewhere in the document; --keep-repeats believes it"
        )
    num_entities = sum(len(text.entities) for text in merged.texts)
    num_open = sum(len(text.properties.get(OPEN, ())) for text in merged.texts)
    hint = f"; to train on them, set `unknown_tag: '{UNKNOWN_TAG}'` of the dataset reader"
    lines.append(
        f"{len(merged.texts):,} texts, {num_entities:,} entities, {num_open:,} words left open"
        + (hint if num_open else "")
    )
    return lines
