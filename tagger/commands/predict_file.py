"""The subcommand `predict-file`: predicts a large file and resumes a killed run.

allennlp predict-file model.tar.gz texts.jsonl -o predictions.jsonl
"""

import argparse
import os
import shlex
import time
from itertools import chain
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import lazy_groups_of
from allennlp.models import Model
from allennlp.predictors import Predictor

from tagger.commands.command import Command, add_shared
from tagger.commands.command_line import load, make_predictor, parse_object
from tagger.commands.line_inputs import LineInputs
from tagger.commands.prediction_extras import add_options, check_options, predictor_args_of
from tagger.commands.prediction_inputs import InstanceInputs, files_of, format_of_input, line_inputs
from tagger.commands.prediction_outputs import Output, RecordLayout, encoder_of
from tagger.commands.resumable_output import (
    ResumableOutput,
    check_skipped,
    digest_of_config,
    is_left_by_killed_run,
    settings_of_run,
)
from tagger.common.console import say
from tagger.common.inputs import PathOrAddress, bare_suffix
from tagger.common.locations import check_not_inputs, check_output, resolved
from tagger.common.parquet import is_parquet
from tagger.common.ranges import check_whole
from tagger.data.formats import FORMATS, READ_FORMATS
from tagger.modules.token_embedders.word_vectors import share_unknown_words

#: By default oneDNN caches code for the last 1,024 shapes, which takes hundreds of megabytes.
FEW_SHAPES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")

Inputs = Union[InstanceInputs, LineInputs]

#: Files of a tagger of numbers that its dataset reader reads.
_TABLES = (".csv", ".tsv", ".parquet", ".txt", ".dat", ".data")

#: Predicts files window by window and writes the output. Its arguments: the inputs of the first file,
#: all files, the output, the window size, the settings of the run, the layout, whether to overwrite.
Runner = Callable[
    [LineInputs, Sequence[str], PathOrAddress, int, Dict[str, Any], RecordLayout, bool], None
]


#: Adds an option, and others that work only with it; returns the names of the others. Their values are
#: None or False if they are not given.
AddOptions = Callable[[argparse.ArgumentParser], Sequence[str]]

#: Ways to predict outside this process, by the option that asks for each: a function that adds the
#: options, and one that makes a runner from the arguments.
RUNNERS: Dict[str, Tuple[AddOptions, Callable[[argparse.Namespace], Runner]]] = {}

#: Other outputs than predictions, by the option that asks for one: what adds the options, and what makes
#: an output of the arguments and the format of the input.
OUTPUTS: Dict[str, Tuple[AddOptions, Callable[[argparse.Namespace, Optional[str]], Output]]] = {}


#: The most keys of the input that are named.
_MOST_NAMED = 12


@Subcommand.register("predict-file")
class PredictFile(Command):
    """Predict a large file, resumably.

    Predict a file of any size. Repeat the command to resume a killed run.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=str, help="the archived model")
        text = (
            "a file as for `allennlp predict`, Parquet, or CSV; it may be compressed, or an address"
        )
        add("input_file", type=str, help=text)
        text = (
            "the file or the address to write: one line of JSON per input, compressed as the "
            "suffix says, or Parquet if it ends in .parquet"
        )
        add("-o", "--output", type=str, required=True, help=text)
        text = (
            "the format of a file that an annotation tool or a library has written, such as "
            "label_studio; by default guessed, if the file has annotations"
        )
        add("--input-format", choices=READ_FORMATS, metavar="FORMAT", help=text)
        text = "write texts with the predicted entities in this format, such as doccano"
        add("--format", choices=FORMATS, metavar="FORMAT", help=text)
        text = "the column of texts in CSV, or of texts or lists of tokens in Parquet"
        add("--text-column", metavar="NAME", default="text", help=text)
        text = "the Parquet output's column of predictions"
        add("--column", metavar="NAME", default="prediction", help=text)
        add("--nested", action="store_true", help="write fields into this column instead of JSON")
        text = "keys or columns of the input, such as id, to write into lines of JSON, too"
        add("--keep", nargs="+", metavar="KEY", default=[], help=text)
        text = "how many inputs to read, sort by length, predict and write together"
        add("--window", type=int, default=2048, help=text)
        text = "take every line as text, even if it looks like JSON"
        add("--plain", action="store_true", help=text)
        text = "read the file with the model's dataset reader, not as texts or JSON lines"
        add("--use-dataset-reader", action="store_true", help=text)
        text = (
            "what to do about a line that cannot be predicted: stop, or skip it and write an object "
            "with the error and the line number instead"
        )
        add("--on-error", choices=("stop", "skip"), default="stop", help=text)
        add_options(parser)
        text = "overwrite the output, and that of an unfinished run with other settings"
        add("--force", action="store_true", help=text)
        add_shared(parser, "--cuda-device")
        self._needed_by = {
            dependent: name
            for name, (add_options, _) in (*RUNNERS.items(), *OUTPUTS.items())
            for dependent in add_options(parser)
        }
        add("--overrides", default="", help="JSON to override the archive's config")
        add("--predictor-args", default="{}", help="JSON with arguments for the predictor")

    def run(self, args: argparse.Namespace) -> None:
        asked = [name for name in RUNNERS if getattr(args, name)]
        others = [name for name in OUTPUTS if getattr(args, name)]
        for name, needed in self._needed_by.items():
            is_given = getattr(args, name) is not None and getattr(args, name) is not False
            if is_given and needed not in asked + others:
                raise ConfigurationError(
                    f"`--{name.replace('_', '-')}` has an effect only with `--{needed}`; add "
                    f"`--{needed}`, or leave it out"
                )
        _check_options(args, asked, others)
        check_options(args)
        predictor_args = parse_object("--predictor-args", args.predictor_args)
        if args.plain:
            predictor_args["plain"] = True
        runner = RUNNERS[asked[0]][1](args) if asked else None
        files = files_of(args.input_file) if runner else [args.input_file]
        inputs = [args.archive_file, args.input_file, *files]
        # All but whether there is an output already: a repeated run may complete its own.
        check_output(args.output, inputs, overwrite=True, takes_addresses=True)
        output = resolved(args.output)
        may_replace = args.force or is_left_by_killed_run(output, output)
        check_output(args.output, inputs, may_replace, takes_addresses=True)
        input_format = format_of_input(args, files[0])
        other = OUTPUTS[others[0]][1](args, input_format) if others else None
        predictor_args.update(other.predictor_args if other else {})
        os.environ.setdefault(*FEW_SHAPES)
        archive = load(args)
        predictor_args.update(predictor_args_of(args, archive.model))
        predictor = make_predictor(archive, predictor_args)
        if getattr(predictor, "reads_numbers", False):
            input_format = args.input_format  # a column of numbers may be called `text`
        predict_file(
            predictor,
            args.input_file,
            args.output,
            args.window,
            args.use_dataset_reader,
            args.on_error,
            overwrite=args.force,
            settings={"config": digest_of_config(archive), "predictor-args": predictor_args},
            layout=RecordLayout(
                args.text_column,
                args.column,
                args.nested,
                args.format,
                input_format,
                other,
                tuple(args.keep),
            ),
            runner=runner,
        )


def _check_options(args: argparse.Namespace, asked: List[str], others: List[str]) -> None:
    """Refuses options that exclude each other: `asked` are of `RUNNERS`, and `others` of `OUTPUTS`."""
    check_whole("--window", args.window)
    option = f"--{asked[0]}" if asked else "--on-error skip"
    if args.use_dataset_reader and (asked or args.on_error == "skip"):
        raise ConfigurationError(
            f"`{option}` needs input lines; it does not work with --use-dataset-reader"
        )
    formats = ["format"] * bool(args.format) + others
    if formats and args.on_error == "skip":
        raise ConfigurationError(
            f"`--on-error skip` writes errors, which `--{formats[0]}` "
            f"{getattr(args, formats[0])} cannot represent; leave one of them out"
        )
    if others and len(formats + asked) > 1:
        excluding = " and ".join(f"`--{name}`" for name in formats + asked)
        raise ConfigurationError(f"{excluding} exclude each other; leave one of them out")


def predict_file(
    predictor: Predictor,
    input_file: str,
    output: PathOrAddress,
    window: int = 2048,
    use_dataset_reader: bool = False,
    on_error: str = "stop",
    overwrite: bool = False,
    settings: Optional[Mapping[str, Any]] = None,
    layout: Optional[RecordLayout] = None,
    runner: Optional[Runner] = None,
) -> None:
    """Predicts a file, a window of inputs at a time, so memory does not grow with the file.

    If a run is killed, repeating the call keeps its complete windows and predicts the rest. The output
    has the same bytes as that of an unbroken run; see `tagger.commands.resumable_output`.

    `settings` holds whatever else affects the predictions, by name, such as the predictor's arguments;
    `runner` predicts the windows elsewhere. The rest are arguments of the command.
    """
    layout = layout or RecordLayout()
    if getattr(predictor, "reads_numbers", False) and runner is None:
        use_dataset_reader |= bare_suffix(input_file).lower() in _TABLES
        if layout.format or layout.input_format or layout.other:
            raise ConfigurationError(
                "this tagger reads numbers, and formats and masks are for texts; leave `--format`, "
                "`--input-format` and `--mask` out"
            )
    if use_dataset_reader and layout.keep:
        raise ConfigurationError(
            "`--keep` needs lines, which no dataset reader reads; leave it out"
        )
    check_not_inputs([output], [input_file])
    output = resolved(output)
    run = settings_of_run(predictor, window, use_dataset_reader, layout, settings or {})
    files = files_of(input_file) if runner and layout.input_format != "brat" else [input_file]
    inputs: Inputs = (
        InstanceInputs(predictor, input_file)
        if use_dataset_reader
        else line_inputs(
            predictor, files[0], on_error == "skip", layout.input_format, layout.text_column
        ).keeping(layout.keep, can_skip=not (layout.format or layout.other))
    )
    if runner and isinstance(inputs, LineInputs):
        runner(inputs, files, output, window, run, layout, overwrite)
        return
    made = layout.other or Output(encoder_of(os.fspath(output), input_file, layout))
    with ResumableOutput(output, run, overwrite) as unfinished:
        if on_error == "stop":
            _drop_skipped(unfinished, output, overwrite)
        rest = _after_written(_windows(inputs, window), unfinished, input_file, overwrite)
        num_kept, started = unfinished.num_lines, time.perf_counter()
        _predict(rest, inputs, unfinished)
        seconds = time.perf_counter() - started
        unfinished.finish(made)
    num_new = unfinished.num_lines - num_kept
    say(f"Wrote {output}\n{_made(num_kept, num_new, seconds)}")
    keeps = layout.other or is_parquet(output) or (layout.format and layout.input_format)
    others = [] if keeps else [each for each in inputs.others if each not in layout.keep]
    _say_what_lacks(predictor._model, unfinished.num_errors, others)


def _made(kept: int, new: int, seconds: float) -> str:
    """Says how many predictions were kept, if any, how many were made, and how fast."""
    made = f"Kept {kept} predictions; made {new}" if kept else f"Made {new} predictions"
    return f"{made} in {seconds:.1f} s, {new / seconds:.0f} per second"


def _say_what_lacks(model: Model, num_errors: int, keys: Sequence[str]) -> None:
    if keys:
        say(
            f"Not written: {', '.join(keys[:_MOST_NAMED])}; the lines are in the order of the texts, "
            f"and `--keep {shlex.quote(keys[0])}` writes {keys[0]}"
        )
    share = share_unknown_words(model, reset=True)
    if share is not None:
        say(f"{share:.1%} of the words are unknown to the tagger")
    if num_errors > 0:
        say(f'Skipped {num_errors} lines, which have an "error" in the output')


def _predict(
    windows: Iterator[Tuple[List[Any], str]], inputs: Inputs, output: ResumableOutput
) -> None:
    """Predicts and writes windows, and shows how many bytes and inputs are done."""
    with Tqdm.tqdm(unit="B", unit_scale=True) as progress:
        for batch, digest in windows:
            output.write(*inputs.predict(batch), digest)
            progress.total = inputs.num_bytes
            progress.update(inputs.num_bytes_read - progress.n)
            # This also refreshes the bytes shown: a window takes seconds.
            progress.set_postfix_str(f"{output.num_lines} inputs")


def _windows(inputs: Inputs, window: int) -> Iterator[Tuple[List[Any], str]]:
    """Yields windows of inputs, each with the digest of all inputs up to its end."""
    digest = ""
    for batch in lazy_groups_of(iter(inputs), window):
        digest = inputs.digest(batch, digest)
        yield batch, digest


def _drop_skipped(unfinished: ResumableOutput, output: PathOrAddress, overwrite: bool) -> None:
    """Cuts off what was written from the first line on that was skipped."""
    check_skipped(output, unfinished.windows, overwrite)
    skipped = [number for number, part in enumerate(unfinished.windows) if part.num_errors]
    unfinished.keep(min(skipped, default=len(unfinished.windows)))


def _after_written(
    windows: Iterator[Tuple[List[Any], str]],
    unfinished: ResumableOutput,
    input_file: str,
    overwrite: bool,
) -> Iterator[Tuple[List[Any], str]]:
    """Returns the windows that are not written yet."""
    for number, written in enumerate(list(unfinished.windows)):
        batch, digest = next(windows, ([], ""))
        if digest == written.digest:
            continue
        if not overwrite:
            num_lines = sum(part.num_lines for part in unfinished.windows[: number + 1])
            raise ConfigurationError(
                f"`input_file` {input_file} differs from the input of the unfinished run on `--output` "
                f"in the first {num_lines} inputs; repeat that run's command to complete it, or "
                f"add --force to predict these inputs again"
            )
        unfinished.keep(number)
        return chain([(batch, digest)] if batch else [], windows)
    return windows
