"""The subcommand `predict-file`: predicts a large file and resumes a killed run.

allennlp predict-file model.tar.gz texts.jsonl -o predictions.jsonl
"""

import argparse
import hashlib
import json
import logging
import os
import time
from itertools import chain
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Tuple, Union

import torch
from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.common.file_utils import cached_path
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import lazy_groups_of
from allennlp.models import Archive, Model
from allennlp.predictors import Predictor

import tagger
from tagger.commands.command import Command, add_shared
from tagger.commands.command_line import check_output, load_model, make_predictor, parse_object
from tagger.commands.prediction_inputs import InstanceInputs, LineInputs
from tagger.commands.resumable_output import ResumableOutput
from tagger.common.console import say
from tagger.modules.token_embedders import share_unknown_words

#: By default torch's oneDNN caches code for the last 1,024 shapes, which takes hundreds of megabytes.
FEW_SHAPES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")


@Subcommand.register("predict-file")
class PredictFile(Command):
    """Writes the same predictions as `allennlp predict --silent`, but can resume a killed run."""

    help = "Predict a large file, resumably."
    description = "Predict a file of any size. Repeat the command to resume a killed run."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=str, help="the archived model")
        add("input_file", type=str, help="a file as for `allennlp predict`")
        text = "the file to write, one line of JSON per input"
        add("-o", "--output", type=Path, required=True, help=text)
        text = "how many inputs to read, sort by length, predict and write at a time"
        add("--window", type=int, default=2048, help=text)
        text = "take every line as text, even if it looks like JSON"
        add("--plain", action="store_true", help=text)
        text = "read the file with the model's dataset reader, not as texts or JSON lines"
        add("--use-dataset-reader", action="store_true", help=text)
        text = (
            "what to do at a line that cannot be predicted: stop, or skip it and write an object "
            "with the error and the number of the line in its place (default: stop)"
        )
        add("--on-error", choices=("stop", "skip"), default="stop", help=text)
        text = (
            "add `leak_probability` and `expected_missed`: how probable it is that entities of these "
            "labels are missed, and how many; such as PER,LOC"
        )
        add("--leaks", metavar="LABELS", help=text)
        text = "add `candidates`: every entity that is at least this probable, such as 0.01"
        add("--candidates", type=float, metavar="PROBABILITY", help=text)
        text = "overwrite the output, and what another unfinished run has written"
        add("--force", action="store_true", help=text)
        add_shared(parser, "--cuda-device")
        add("--overrides", default="", help="JSON to override the archive's config")
        add("--predictor-args", default="{}", help="the predictor's arguments as JSON")

    def run(self, args: argparse.Namespace) -> None:
        if args.window < 1:
            raise ConfigurationError(f"`--window` must be at least 1; got {args.window}")
        if args.use_dataset_reader and args.on_error == "skip":
            raise ConfigurationError(
                "`--on-error skip` needs input lines; it does not work with --use-dataset-reader"
            )
        predictor_args = parse_object("--predictor-args", args.predictor_args)
        if args.plain:
            predictor_args["plain"] = True
        if args.leaks is not None:
            predictor_args["leak_labels"] = args.leaks.split(",")
        if args.candidates is not None:
            predictor_args["candidates"] = args.candidates
        check_output(args.output, [args.input_file, args.archive_file], args.force)
        if not (args.use_dataset_reader or Path(cached_path(args.input_file)).is_file()):
            raise ConfigurationError(
                f"`input_file` {args.input_file} must be a file, because it is read twice: to count "
                f"the inputs, and to predict them"
            )
        logging.getLogger("allennlp.common.params").disabled = True
        os.environ.setdefault(*FEW_SHAPES)
        check_for_gpu(args.cuda_device)
        archive = load_model(
            args.archive_file, cuda_device=args.cuda_device, overrides=args.overrides
        )
        predict_file(
            make_predictor(archive, predictor_args),
            args.input_file,
            args.output,
            args.window,
            args.use_dataset_reader,
            args.on_error,
            overwrite=args.force,
            settings={"config": _digest_of_config(archive), "predictor-args": predictor_args},
        )


def predict_file(
    predictor: Predictor,
    input_file: str,
    output: Path,
    window: int = 2048,
    use_dataset_reader: bool = False,
    on_error: str = "stop",
    overwrite: bool = False,
    settings: Optional[Mapping[str, Any]] = None,
) -> None:
    """Predicts a file, a window of inputs at a time, so memory does not grow with the file.

    Until the end the predictions go to a hidden file beside `output`; see
    `tagger.commands.resumable_output`. After a run was killed, the same call keeps that run's whole
    windows and predicts the rest. The bytes are then the same as those of a run that was not killed.

    Args:
        predictor: The model's predictor.
        input_file: A file of lines for `predictor.load_line`, or for the dataset reader.
        output: The file to write, one line per input.
        window: How many inputs to predict and write at a time.
        use_dataset_reader: Whether to read the input with the dataset reader.
        on_error: What to do at a line that cannot be predicted: `"stop"`, or `"skip"` it and write an
            object with the `error` and the number of the `line` in its place.
        overwrite: Whether to replace an output that exists, and to discard what an unfinished run with
            other settings or inputs has written.
        settings: What else decides the predictions, such as the predictor's arguments, by name.

    Raises:
        ConfigurationError: If a line cannot be predicted; the message has its number. If another process
            writes the output, or an unfinished run with other settings or inputs has begun it.
    """
    run = {
        "model": _digest_of_model(predictor._model),
        "window": window,
        "use-dataset-reader": use_dataset_reader,
        "version": tagger.__version__,
        **(settings or {}),
    }
    lines = LineInputs(predictor, input_file, skips_errors=on_error == "skip")
    inputs = InstanceInputs(predictor, input_file) if use_dataset_reader else lines
    total = None if use_dataset_reader else sum(1 for _ in lines)
    with ResumableOutput(output, run, overwrite) as unfinished:
        if on_error == "stop":
            _drop_skipped(unfinished, output, overwrite)
        windows = _windows(inputs, window)
        rest = _after_written(windows, unfinished, input_file, overwrite)
        num_kept = unfinished.num_lines
        started = time.perf_counter()
        with Tqdm.tqdm(total=total, initial=num_kept, unit=" sentences") as progress:
            for batch, digest in rest:
                unfinished.write(*inputs.predict(batch), digest)
                progress.update(len(batch))
        seconds = time.perf_counter() - started
        num_new = unfinished.num_lines - num_kept
        unfinished.finish()
    speed = f"made {num_new} in {seconds:.1f} s, {num_new / seconds:.0f} per second"
    say(f"Wrote {output}\nKept {num_kept} predictions; {speed}")
    _say_what_lacks(predictor._model, unfinished.num_errors)


def _say_what_lacks(model: Model, num_errors: int) -> None:
    share = share_unknown_words(model, reset=True)
    if share is not None:
        say(f"{share:.1%} of the words are unknown to the tagger")
    if num_errors > 0:
        say(f'Skipped {num_errors} lines, which have an "error" in the output')


def _windows(
    inputs: Union[InstanceInputs, LineInputs], window: int
) -> Iterator[Tuple[List[Any], str]]:
    """Yields windows of inputs, each with the digest of all inputs up to its end."""
    digest = ""
    for batch in lazy_groups_of(iter(inputs), window):
        digest = inputs.digest(batch, digest)
        yield batch, digest


def _drop_skipped(unfinished: ResumableOutput, output: Path, overwrite: bool) -> None:
    """Cuts off what was written from the first line on that was skipped."""
    if unfinished.num_errors == 0:
        return
    if not overwrite:
        raise ConfigurationError(
            f"`--output` {output} was begun by a run that skipped {unfinished.num_errors} lines; add "
            f"--on-error skip to complete it, or --force to go back to the first of these lines"
        )
    unfinished.keep(sum(window.num_errors == 0 for window in unfinished.windows))


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
            raise ConfigurationError(
                f"`input_file` {input_file} differs from the input of the unfinished run on `--output` "
                f"in the first {written.num_lines} inputs; repeat that run's command to complete it, or "
                f"add --force to predict these inputs again"
            )
        unfinished.keep(number)
        return chain([(batch, digest)] if batch else [], windows)
    return windows


def _digest_of_model(model: Model) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _digest_of_config(archive: Archive) -> str:
    config = archive.config.as_dict(quiet=True)
    parts = [config.get(name) for name in ("model", "dataset_reader", "validation_dataset_reader")]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
