"""The subcommand `predict-file`: predicts a large file and resumes a killed run.

allennlp predict-file model.tar.gz texts.jsonl -o predictions.jsonl
"""

import argparse
import json
import logging
import os
import time
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Iterator, List

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.common.file_utils import cached_path, open_compressed
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import lazy_groups_of
from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor

#: By default torch's oneDNN caches code for the last 1,024 shapes, which takes hundreds of megabytes.
FEW_SHAPES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")


@Subcommand.register("predict-file")
class PredictFile(Subcommand):
    """Writes the same predictions as `allennlp predict --silent`, but can resume a killed run."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = "Predict a file of any size. Repeat the command to resume a killed run."
        subparser = parser.add_parser(
            self.name, description=description, help="Predict a large file, resumably."
        )
        subparser.add_argument("archive_file", type=str, help="the archived model")
        subparser.add_argument("input_file", type=str, help="a file as for `allennlp predict`")
        subparser.add_argument(
            "-o",
            "--output",
            type=Path,
            required=True,
            help="the file to write, one line of JSON per input",
        )
        subparser.add_argument(
            "--window",
            type=int,
            default=2048,
            help="how many inputs to read, sort by length, predict and write at a time",
        )
        subparser.add_argument(
            "--use-dataset-reader",
            action="store_true",
            help="read the file with the model's dataset reader, not as texts or JSON lines",
        )
        subparser.add_argument("--force", action="store_true", help="overwrite the output")
        subparser.add_argument(
            "--cuda-device", type=int, default=-1, help="the GPU's id; -1 for the CPU"
        )
        subparser.add_argument(
            "--overrides", default="", help="JSON to override the archive's config"
        )
        subparser.add_argument(
            "--predictor-args",
            type=json.loads,
            default={},
            help="the predictor's arguments as JSON",
        )
        subparser.set_defaults(func=predict_file_from_args)
        return subparser


def predict_file_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    try:
        if args.output.exists() and not args.force:
            raise ConfigurationError(
                f"`--output` {args.output} already exists; give another name, or add --force"
            )
        if args.window < 1:
            raise ConfigurationError(f"`--window` must be at least 1; got {args.window}")
        logging.getLogger("allennlp.common.params").disabled = True
        os.environ.setdefault(*FEW_SHAPES)
        check_for_gpu(args.cuda_device)
        archive = load_archive(
            args.archive_file, cuda_device=args.cuda_device, overrides=args.overrides
        )
        predictor = Predictor.from_archive(archive, extra_args=args.predictor_args)
        if args.force:
            _unfinished(args.output).unlink(missing_ok=True)
        predict_file(predictor, args.input_file, args.output, args.window, args.use_dataset_reader)
    except (ConfigurationError, FileNotFoundError) as error:
        raise SystemExit(f"predict-file: {error}") from None


def predict_file(
    predictor: Predictor,
    input_file: str,
    output: Path,
    window: int = 2048,
    use_dataset_reader: bool = False,
) -> None:
    """Predicts a file, a window of inputs at a time, so memory does not grow with the file.

    Until the end it writes to a file beside `output`, with `.unfinished` added to the name. If that file
    exists already, it keeps all whole windows in it and predicts the rest. The bytes are then the same
    as those of a run that was not killed.

    Args:
        predictor: The model's predictor.
        input_file: A file of lines for `predictor.load_line`, or for the dataset reader.
        output: The file to write, one line per input.
        window: How many inputs to predict and write at a time.
        use_dataset_reader: Whether to read the input with the dataset reader.

    Raises:
        ConfigurationError: If the unfinished file holds other predictions than those made now.
    """
    inputs = _inputs(predictor, input_file, use_dataset_reader)
    total = None if use_dataset_reader else sum(1 for _ in _lines(input_file))
    unfinished = _unfinished(output)

    def predict(batch: List[Any]) -> List[bytes]:
        """Returns the lines to write."""
        predictions = (
            predictor.predict_batch_instance(batch)
            if use_dataset_reader
            else predictor.predict_batch_json(batch)
        )
        return [predictor.dump_line(prediction).encode() for prediction in predictions]

    with open(unfinished, "a+b") as file:
        num_kept = _keep_whole_windows(file, window)
        if num_kept > 0:
            # Predict the last written window again to check that it is the same run.
            next(islice(inputs, num_kept - window, num_kept - window), None)
            last = list(islice(inputs, window))
            _check_same_run(unfinished, num_kept - window, predict(last))
        started, num_new = time.perf_counter(), 0
        with Tqdm.tqdm(total=total, initial=num_kept, unit=" sentences") as progress:
            for batch in lazy_groups_of(inputs, window):
                file.write(b"".join(predict(batch)))
                file.flush()
                num_new += len(batch)
                progress.update(len(batch))
        seconds = time.perf_counter() - started
    os.replace(unfinished, output)
    print(f"Wrote {output}")
    print(
        f"Kept {num_kept} predictions; made {num_new} in {seconds:.1f} s, {num_new / seconds:.0f} per "
        f"second"
    )


def _unfinished(output: Path) -> Path:
    return output.with_name(output.name + ".unfinished")


def _lines(path: str) -> Iterator[str]:
    with open_compressed(cached_path(path)) as lines:
        yield from (line for line in lines if not line.isspace())


def _inputs(predictor: Predictor, path: str, use_dataset_reader: bool) -> Iterator[Any]:
    if use_dataset_reader:
        return iter(predictor._dataset_reader.read(path))
    return map(predictor.load_line, _lines(path))


def _keep_whole_windows(file: BinaryIO, window: int) -> int:
    """Cuts off an incomplete last window and returns the number of lines left."""
    file.seek(0)
    num_lines = end = position = 0
    for line in file:
        position += len(line)
        if line.endswith(b"\n"):
            num_lines += 1
            if num_lines % window == 0:
                end = position
    file.truncate(end)
    return num_lines - num_lines % window


def _check_same_run(unfinished: Path, start: int, expected: List[bytes]) -> None:
    """Compares predictions, without probabilities, with those written from line `start` on."""
    with open(unfinished, "rb") as lines:
        written = islice(lines, start, None)
        for number, (line, anew) in enumerate(
            zip_longest(written, expected, fillvalue=b"0"), start + 1
        ):
            if _without_probabilities(line) != _without_probabilities(anew):
                raise ConfigurationError(
                    f"{unfinished}:{number}: this line differs from what is predicted now, so it comes "
                    f"from another model, input or `--window`; repeat that command, or add --force to "
                    f"start again"
                )


def _without_probabilities(line: bytes) -> Any:
    # Other numbers of threads and other machines may round differently.
    return json.loads(line, parse_float=lambda _: None)
