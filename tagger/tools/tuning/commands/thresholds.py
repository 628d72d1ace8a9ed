"""The part of `tune-decoding` for the thresholds of a saved model of several labels."""

import argparse
from contextlib import suppress

from allennlp.common.checks import ConfigurationError
from allennlp.models import Archive

from tagger.tools.tuning.evidence import say_changes
from tagger.training.thresholds import LEAST_POSITIVES, TuningTarget, threshold_tuner


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for models of several labels."""
    add = parser.add_argument_group("models of several labels").add_argument
    text = (
        "fit thresholds for micro or macro F1, or for precision=0.9 or recall=0.9 of each label: the "
        "highest recall at that precision, or the fewest predictions at that recall"
    )
    add("--target", type=_target, help=text)
    add("--common", action="store_true", help="one threshold for all labels, for micro or macro F1")
    text = "without --common: do not tune labels with fewer items than this"
    add("--least-positives", type=int, default=LEAST_POSITIVES, metavar="NUMBER", help=text)


def tune_thresholds(args: argparse.Namespace, archive: Archive) -> None:
    """Writes an archive with the best thresholds for the development data."""
    from allennlp.training.util import evaluate

    from tagger.modules.label_thresholds import thresholds_of
    from tagger.tools.tuning.evaluation import evaluation_loader
    from tagger.tools.tuning.tuned_archive import write_weights

    tuner = threshold_tuner(args.target or "micro", args.least_positives, args.common)
    found = thresholds_of(archive.model)
    if not found:
        raise ConfigurationError(
            "`--target` and `--common` are for a `document_classifier`, or a `sequence_tagger` with the "
            "head `sigmoid`; the other options tune the heads `crf`, `softmax` and `label_chains`"
        )
    loader = evaluation_loader(archive, args.input_file)
    before = evaluate(archive.model, loader, args.cuda_device)
    for each in found.values():
        each.start_tuning(tuner)
    after = evaluate(archive.model, loader, args.cuda_device)
    labels = {label for each in found.values() for label in each.labels}
    say_changes(labels, before, after)
    tuned = {f"{name}.thresholds": each.thresholds for name, each in found.items()}
    write_weights(args.archive_file, args.output, tuned, args.force)


def _target(text: str) -> TuningTarget:
    """Parses `micro` or `precision=0.9`."""
    name, _, number = text.partition("=")
    with suppress(ValueError):
        if text in ("micro", "macro"):
            return text
        if name in ("precision", "recall"):
            return {name: float(number)}
    raise argparse.ArgumentTypeError(
        f"expected micro, macro, precision=0.9 or recall=0.9; got {text!r}"
    )
