"""Like AllenNLP's `evaluate`, but checks its outputs first and writes them atomically.

Files in a list are first scored one by one, each by the labels that it annotates.
"""

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Dict, List, Optional, Sequence

from allennlp.commands import Subcommand
from allennlp.commands.evaluate import Evaluate as AllenNlpEvaluate
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import wrapped
from tagger.commands.command_line import load
from tagger.common.console import activity, show_last
from tagger.common.files import write_atomically
from tagger.common.locations import check_output

#: Functions that run after AllenNLP's `evaluate`, with its arguments; tools add theirs.
FOLLOW_UPS: List[Callable[[argparse.Namespace], None]] = []


@Subcommand.register("evaluate", exist_ok=True)
class Evaluate(AllenNlpEvaluate):
    """Evaluates as AllenNLP does; outputs never overwrite an input and are written atomically."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = super().add_subparser(parser)
        subparser.add_argument(
            "--from-text",
            action="store_true",
            help="join the gold tokens into text, tag the text, and compare entities by characters",
        )
        return wrapped(subparser, _evaluate)


def _evaluate(
    evaluate: Callable[[argparse.Namespace], Dict[str, Any]], args: argparse.Namespace
) -> Dict[str, Any]:
    inputs = [args.archive_file, *files_in(args.input_file), *filter(None, [args.weights_file])]
    options = {
        "output_file": files_in(args.output_file),
        "predictions_output_file": files_in(args.predictions_output_file),
    }
    for name, paths in options.items():
        check_outputs(f"--{name.replace('_', '-')}", paths, inputs)
    if args.from_text:
        return _evaluate_from_text(args)
    for path in files_in(args.input_file):
        _evaluate_listed(evaluate, args, path)
    with ExitStack() as outputs:
        if args.auto_names == "NONE":
            for name, paths in options.items():
                if paths:
                    new = (whole_output(path, outputs) for path in paths)
                    setattr(args, name, ",".join(new))
        metrics = evaluate(args)
    for follow_up in FOLLOW_UPS:
        follow_up(args)
    return metrics


def _evaluate_listed(
    evaluate: Callable[[argparse.Namespace], Dict[str, Any]], args: argparse.Namespace, path: str
) -> None:
    """Scores each file of a list by the labels that it annotates."""
    from tagger.data.dataset_readers.file_lists import (
        SUFFIX,
        list_of_files,
        listed_files,
    )

    for listed in listed_files(path) or ():
        own = argparse.Namespace(**vars(args))
        own.output_file = own.predictions_output_file = None
        with TemporaryDirectory() as folder, activity(str(listed)):
            alone = Path(folder, f"{listed.path.stem}{SUFFIX}")
            whole = listed._replace(path=listed.path.resolve())
            alone.write_text(list_of_files([whole]), encoding="utf-8")
            own.input_file = str(alone)
            evaluate(own)


def _evaluate_from_text(args: argparse.Namespace) -> Dict[str, Any]:
    from tagger.metrics import format_metrics
    from tagger.predictors.saved_tagger import SavedTagger
    from tagger.predictors.text_evaluation import evaluate_file, reproduction

    if args.predictions_output_file or "," in args.input_file:
        raise ConfigurationError(
            "`--from-text` takes one file and no `--predictions-output-file`; use `predict` to write "
            "predictions for texts"
        )
    archive = load(args)
    tagger = SavedTagger.of(archive, args.archive_file)
    metrics = evaluate_file(tagger, archive.validation_dataset_reader, args.input_file)
    if args.output_file:
        with write_atomically(Path(args.output_file), overwrite=True) as path:
            path.write_text(json.dumps(metrics, indent=2), encoding="utf-8")
    show_last("Metrics on text", f"{format_metrics(metrics)}\n\n{reproduction(tagger, metrics)}.")
    return metrics


def files_in(paths: Optional[str]) -> List[str]:
    """Splits AllenNLP's comma-separated list of files."""
    return paths.split(",") if paths else []


def check_outputs(option: str, outputs: Sequence[str], inputs: Sequence[str]) -> None:
    """Rejects outputs that are inputs or cannot be written; devices such as `/dev/null` are fine."""
    for output in outputs:
        if not _is_special(Path(output)):
            check_output(Path(output), inputs, overwrite=True, option=option)


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def whole_output(path: str, outputs: ExitStack) -> str:
    """Returns a temporary name that becomes `path` when `outputs` exits without an error.

    Devices and pipes are written directly.
    """
    if _is_special(Path(path)):
        return path
    return str(outputs.enter_context(write_atomically(Path(path), overwrite=True)))
