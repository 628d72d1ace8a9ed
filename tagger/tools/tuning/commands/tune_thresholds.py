"""The subcommand `tune-thresholds`: fits the thresholds of a saved model of several labels.

allennlp tune-thresholds model.tar.gz dev.jsonl -o tuned.tar.gz --target micro --common
"""

import argparse
import logging
from contextlib import suppress
from pathlib import Path
from typing import List, Mapping

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError, check_for_gpu

from tagger.commands.command import Command, add_shared
from tagger.common.console import say
from tagger.common.locations import check_output
from tagger.metrics.label_metrics import MEASURES
from tagger.tools.tuning.commands.changes import say_changes
from tagger.training.thresholds import LEAST_POSITIVES, TuningTarget, threshold_tuner


@Subcommand.register("tune-thresholds")
class TuneThresholds(Command):
    """Writes an archive with the same weights and the thresholds that are best on development data."""

    help = "Fit the thresholds of a saved model of several labels."
    description = (
        "Fit the thresholds of a saved classifier of documents, or of a tagger with the head "
        "`sigmoid`, to development data, without training."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived model")
        add("input_file", help="the development data")
        add("-o", "--output", type=Path, required=True, help="the archive to write")
        text = (
            "micro or macro F1, or precision=0.9 or recall=0.9 for each label: the highest recall at "
            "that precision, or the fewest predictions at that recall (default = micro)"
        )
        add("--target", type=_target, default="micro", help=text)
        text = "one threshold for all labels, for micro or macro F1"
        add("--common", action="store_true", help=text)
        text = "without --common: leave labels alone that fewer items have"
        add("--least-positives", type=int, default=LEAST_POSITIVES, metavar="NUMBER", help=text)
        add_shared(parser, "--force", "--cuda-device")

    def run(self, args: argparse.Namespace) -> None:
        from allennlp.models import load_archive
        from allennlp.training.util import evaluate

        from tagger.modules.label_thresholds import thresholds_of
        from tagger.tools.tuning.tuned_archive import write_weights
        from tagger.training.evaluation import evaluation_loader

        tuner = threshold_tuner(args.target, args.least_positives, args.common)
        check_output(args.output, [args.archive_file, args.input_file], args.force)
        logging.getLogger("allennlp.common.params").disabled = True
        check_for_gpu(args.cuda_device)
        archive = load_archive(args.archive_file, cuda_device=args.cuda_device)
        found = thresholds_of(archive.model)
        if not found:
            raise ConfigurationError(
                "`archive_file` must hold a `document_classifier`, or a `sequence_tagger` with the head "
                "`sigmoid`; `allennlp tune-decoding` tunes the heads `crf` and `softmax`"
            )
        loader = evaluation_loader(archive, args.input_file)
        before = evaluate(archive.model, loader, args.cuda_device)
        for each in found.values():
            each.start_tuning(tuner)
        after = evaluate(archive.model, loader, args.cuda_device)
        labels = {label for each in found.values() for label in each.labels}
        say_changes(
            before, after, [c for c in labels if _measures(before, c) == _measures(after, c)]
        )
        tuned = {f"{name}.thresholds": each.thresholds for name, each in found.items()}
        write_weights(args.archive_file, args.output, tuned, args.force)
        say(f"Wrote {args.output}")


def _measures(metrics: Mapping[str, float], label: str) -> List[float]:
    return [metrics[f"{measure}-{label}"] for measure in MEASURES]


def _target(text: str) -> TuningTarget:
    """Reads `micro`, and `precision=0.9`."""
    name, _, number = text.partition("=")
    with suppress(ValueError):
        if text in ("micro", "macro"):
            return text
        if name in ("precision", "recall"):
            return {name: float(number)}
    raise argparse.ArgumentTypeError(
        f"expected micro, macro, precision=0.9 or recall=0.9; got {text!r}"
    )
