"""Like AllenNLP's `predict`, but checks its arguments first and reports the line of an error."""

import argparse
import io
import sys
from contextlib import ExitStack
from typing import Any, Callable, Iterator, List, Optional

from allennlp.commands import Subcommand
from allennlp.commands.predict import Predict as AllenNlpPredict, _PredictManager
from allennlp.common import JsonDict, logging as common_logging
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import HelpFormatter
from tagger.commands.command_line import load, make_predictor, parse_object
from tagger.commands.evaluate import check_outputs, whole_output
from tagger.common.inputs import bare_suffix, utf8_lines
from tagger.common.parquet import is_parquet
from tagger.common.ranges import check_whole
from tagger.data.formats import is_csv, recognise
from tagger.predictors.batched_predictor import BatchedPredictor


@Subcommand.register("predict", exist_ok=True)
class Predict(AllenNlpPredict):
    """Predicts as AllenNLP does, but prints one line of JSON for each input and nothing else.

    Lines go to standard output or to `--output-file`, which cannot be an input and is written
    atomically.
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = super().add_subparser(parser)
        subparser.formatter_class = HelpFormatter
        subparser.set_defaults(func=_predict)
        return subparser


def _predict(args: argparse.Namespace) -> None:
    check_whole("--batch-size", args.batch_size)
    inputs = [args.archive_file, args.input_file, *filter(None, [args.weights_file])]
    check_outputs("--output-file", [args.output_file] if args.output_file else [], inputs)
    common_logging.FILE_FRIENDLY_LOGGING = args.file_friendly_logging
    arguments = parse_object("--predictor-args", args.predictor_args.strip() or "{}")
    archive = load(args)
    predictor = make_predictor(archive, arguments, args.predictor, args.dataset_reader_choice)
    if isinstance(predictor, BatchedPredictor) and not (predictor.plain or args.use_dataset_reader):
        _refuse_annotated(args.input_file)
    if args.silent and not args.output_file:
        print("--silent specified without --output-file.")
        print("Exiting early because no output will be created.")
        return
    if not sys.stdout.isatty():
        _use_utf_8(sys.stdout)
    with ExitStack() as outputs:
        output = whole_output(args.output_file, outputs) if args.output_file else None
        manager = _LinesManager(
            predictor,
            args.input_file,
            output,
            args.batch_size,
            not output,
            args.use_dataset_reader,
            args.multitask_head,
        )
        try:
            manager.run()
        finally:
            if manager._output_file is not None:
                manager._output_file.close()
    # Nothing else tells the user that it is done.
    if isinstance(predictor, BatchedPredictor):
        predictor.throughput.log()


def _refuse_annotated(path: str) -> None:
    """Rejects tables and exports of annotation tools, which do not have one input per line."""
    found = None if path == "-" else recognise(path)
    if found is None and (is_csv(path) or is_parquet(path)):
        found = bare_suffix(path)[1:].lower()
    if found is not None:
        raise ConfigurationError(
            f"`input_file` {path} has the format {found}, not an input on each line; use `allennlp "
            "predict-file`, with --plain if every line is text"
        )


class _LinesManager(_PredictManager):
    """Writes lines of JSON in UTF-8 and nothing else; errors name the input line."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if self._output_file is not None:
            _use_utf_8(self._output_file)

    def _maybe_print_to_console_and_file(
        self, index: int, prediction: str, model_input: Optional[str] = None
    ) -> None:
        # Some predictors omit the line feed.
        (self._output_file or sys.stdout).write(prediction)

    def _get_json_data(self) -> Iterator[JsonDict]:
        self._places = {}
        for place, line in utf8_lines(self._input_file):
            # Our predictors answer every line, even a blank one.
            if line.isspace() and not isinstance(self._predictor, BatchedPredictor):
                continue
            inputs = _at(place, self._predictor.load_line, line)
            self._places[id(inputs)] = place
            yield inputs

    def _predict_json(self, batch_data: List[JsonDict]) -> Iterator[str]:
        try:
            yield from list(super()._predict_json(batch_data))
        except ValueError:
            check = getattr(self._predictor, "check", self._predictor._json_to_instance)
            for inputs in batch_data:
                _at(self._places[id(inputs)], check, inputs)
            raise
        self._places = {}


def _use_utf_8(stream: Any) -> None:
    """Makes a text stream UTF-8, as JSON requires, whatever the locale."""
    if isinstance(stream, io.TextIOWrapper):
        # Half of a surrogate pair becomes a JSON escape.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _at(place: str, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function that reads a line, and adds the line's place to its errors."""
    try:
        return function(*args)
    except ValueError as error:
        raise ConfigurationError(f"{place}: {error}") from None
