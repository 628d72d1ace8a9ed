"""The options of `predict-file` that write masked texts in place of predictions."""

import argparse
from functools import partial
from pathlib import Path
from typing import Optional, Sequence

from allennlp.common.checks import ConfigurationError

from tagger.commands.predict_file import OUTPUTS
from tagger.commands.prediction_outputs import Output
from tagger.commands.resumable_output import is_left_by_killed_run
from tagger.common.files import new_folder
from tagger.common.inputs import bare_suffix, is_address
from tagger.common.locations import check_output, resolved
from tagger.common.outputs import new_output
from tagger.common.ranges import check_number
from tagger.spans.repeats import LEAST_CHARACTERS
from tagger.tools.deidentification.masks import STYLES, MaskWriter


def _add_options(parser: argparse.ArgumentParser) -> Sequence[str]:
    add = parser.add_argument
    text = (
        "write the texts with masks for the predicted entities: [NAME], characters of the same "
        "number, or [NAME_1] with a number for each name of a text. A file next to them says where "
        "the masks are. The output is a file, or a folder if it ends with a slash"
    )
    add("--mask", choices=STYLES, help=text)
    text = (
        "with --mask: mask the same string wherever else it occurs in its text, in upper or lower "
        f"case, if it has at least {LEAST_CHARACTERS} characters"
    )
    add("--mask-repeats", action="store_true", help=text)
    text = (
        "with --mask: also mask tokens that lie in an entity with more than this probability, such "
        "as the threshold that `tune-decoding --masked` prints with its promise"
    )
    add("--mask-above", type=float, metavar="PROBABILITY", help=text)
    return "mask_repeats", "mask_above"


def _output(args: argparse.Namespace, input_format: Optional[str]) -> Output:
    is_folder = args.output.endswith("/")
    is_own = partial(is_left_by_killed_run, resolved(args.output))
    problem = ""
    if is_folder and is_address(args.output):
        problem = "is an address; `--mask` writes folders of this machine alone"
    elif is_folder and Path(args.output).exists() and not is_own(args.output):
        problem = "already exists; name a new folder"
    elif bare_suffix(args.output) == ".parquet":
        problem = "would be Parquet; `--mask` writes .txt, .jsonl, or a folder"
    elif args.keep and bare_suffix(args.output) != ".jsonl":
        problem = "has no place for `--keep`; name a file that ends in .jsonl"
    if problem:
        raise ConfigurationError(f"`--output` {args.output} {problem}")
    above = args.mask_above
    if above is not None:
        check_number("--mask-above", above, 0 <= above < 1, "at least 0 and below 1")
    writer = MaskWriter(
        args.output, args.mask, args.mask_repeats, above, args.input_file, input_format, args.keep
    )
    may_replace = args.force or is_own(writer.sidecar)
    check_output(
        writer.sidecar, [args.archive_file, args.input_file], may_replace, takes_addresses=True
    )
    predictor_args = {} if above is None else {"probabilities": True}
    open_new = new_folder if is_folder else new_output
    return Output(writer, open_new, predictor_args, writer.sidecar)


OUTPUTS["mask"] = (_add_options, _output)
