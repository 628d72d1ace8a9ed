"""The subcommand `allennlp compare-data model.tar.gz dev.txt new.txt --format text`."""

import argparse
import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.commands.command_line import load, make_predictor
from tagger.common.console import say
from tagger.common.files import write_atomically
from tagger.common.locations import check_output
from tagger.common.ranges import check_number, check_whole
from tagger.models.tagging_model import chain_of
from tagger.tools.tuning.commands.soft_labels import advising_text, reader_without_tags
from tagger.tools.tuning.data_comparison import (
    Difference,
    difference,
    features_of_columns,
    features_of_lines,
)
from tagger.tools.tuning.estimates import (
    Correction,
    Estimate,
    estimate,
    estimate_corrected,
    true_measures,
)
from tagger.tools.tuning.features import SentenceFeatures
from tagger_texts.display import num_columns, padded

#: The exit status if the new texts are of another kind.
DIFFERENT = 3
#: The most features to print.
MOST_FEATURES = 8
MEASURES = ("precision", "recall", "F1")


@Subcommand.register("compare-data")
class CompareData(Command):
    """Compare new texts with labelled ones.

    Test whether new texts without tags are of the same kind as labelled ones, using features that a
    saved tagger computes, and estimate its precision and recall on them. The exit status is 0 if no
    difference is found, 3 if the texts are of another kind, and 1 after an error.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger")
        text = "labelled texts that the tagger was not trained on, in a file for its dataset reader"
        add("calibration_file", type=str, help=text)
        add("new_file", type=str, help="the new texts")
        text = (
            "the format of the new texts: columns, read like the labelled texts but ignoring tags; or "
            "text, with a text or JSON object on each line, as for `predict-file`"
        )
        add("--format", choices=("columns", "text"), default="columns", help=text)
        text = (
            "the largest p-value at which the texts count as different, which is the rate of "
            "false alarms (0.05)"
        )
        add("--level", type=float, default=0.05, help=text)
        text = (
            "treat this many consecutive sentences as one text; by default documents are compared if "
            "both files mark them, runs as long as the longest document if one file does, and otherwise "
            "sentences"
        )
        add("--run", type=int, help=text)
        add(
            "-o",
            "--output",
            type=Path,
            help="a JSON file for a copy of the results",
        )
        add("--batch-size", type=int, default=16, help="sentences or documents at a time")
        add_shared(parser, "--cuda-device", "--force")

    def run(self, args: argparse.Namespace) -> None:
        check_number("--level", args.level, 0 < args.level < 1, "above 0 and below 1")
        if args.run is not None:
            check_whole("--run", args.run)
        if args.output:
            inputs = [args.archive_file, args.calibration_file, args.new_file]
            check_output(args.output, inputs, args.force)
        archive = load(args)
        model, reader = archive.model, archive.validation_dataset_reader
        labelled = features_of_columns(model, reader, args.calibration_file, args.batch_size)
        if args.format == "text":
            predictor = make_predictor(archive, {})
            new = features_of_lines(model, predictor, args.new_file, args.batch_size)
        else:
            reader = reader_without_tags(archive)
            with advising_text(args.new_file):
                new = features_of_columns(model, reader, args.new_file, args.batch_size)
        found = difference(labelled, new, args.run)
        is_different = found.p_value <= args.level
        _say_difference(args, found, labelled, new, is_different)
        estimates = _estimates(model, labelled, new)
        names = [*new.labels, "overall"]
        for title, each in estimates.items():
            shown = title.format(new=args.new_file, labelled=args.calibration_file)
            say(f"\n{shown}\n{_table(names, each)}")
        if args.output:
            with write_atomically(args.output, args.force) as path:
                result = {**found._asdict(), "is_different": is_different, "level": args.level}
                result["estimates"] = {
                    title: _by_label(names, each) for title, each in estimates.items()
                }
                path.write_text(json.dumps(result, indent=2), encoding="utf-8")
        if is_different:
            raise SystemExit(DIFFERENT)


def _estimates(
    model: Any, labelled: SentenceFeatures, new: SentenceFeatures
) -> Dict[str, Estimate]:
    chain = chain_of(model)
    recalibration = chain.recalibration if chain else None
    own = None if recalibration is None else Correction(recalibration.coefficients.cpu().numpy())
    estimates = {"Estimated for {new}, by the tagger's own probabilities": estimate(new, own)}
    if labelled.has_gold.any():
        corrected = estimate_corrected(new, labelled)
        estimates["Estimated for {new}, as corrected by {labelled}"] = corrected
        before = "For comparison: estimated for {labelled}, by the tagger's own probabilities"
        estimates[before] = estimate(labelled, own)
        estimates["For comparison: the truth for {labelled}"] = true_measures(labelled)
    return estimates


def _say_difference(
    args: argparse.Namespace,
    found: Difference,
    labelled: SentenceFeatures,
    new: SentenceFeatures,
    is_different: bool,
) -> None:
    sizes = [
        f"{path}: {len(seen.num_words)} sentences, {seen.num_words.sum()} words, "
        f"{seen.groups.number} {seen.groups.kind}s"
        for path, seen in ((args.calibration_file, labelled), (args.new_file, new))
    ]
    say("\n".join(sizes))
    caution = (
        ", which makes false alarms frequent if the sentences come from documents; mark the documents "
        "in both files, or give a --run that is longer than the documents"
    )
    say(f"Compared by {found.unit}{caution * (found.unit == 'sentence')}.")
    if not is_different:
        say(f"No difference in kind was found (p = {found.p_value:.4f}).")
        return
    say(f"They are of different kinds (p = {found.p_value:.4f}). What differs most:")
    named = [name for name, (_, _, p) in found.features.items() if p <= args.level]
    for name in named[:MOST_FEATURES] or list(found.features)[:1]:
        old, now, p = found.features[name]
        say(f"  {name:36} {old:8.4f} -> {now:8.4f}  (p = {p:.4f})")


def _table(names: Sequence[str], estimate: Estimate) -> str:
    width = max(map(num_columns, names)) + 2
    lines = [" " * width + "".join(f"{each:>28}" for each in MEASURES)]
    for k, name in enumerate(names):
        cells = [
            "-" if np.isnan(value) else f"{value:.4f} ({low:.4f} to {high:.4f})"
            for value, low, high in zip(*(column[:, k] for column in estimate))
        ]
        lines.append(padded(name, width) + "".join(f"{cell:>28}" for cell in cells))
    return "\n".join(lines)


def _by_label(
    names: Sequence[str], estimate: Estimate
) -> Dict[str, Dict[str, List[Optional[float]]]]:
    """Returns a number with its bounds for each label and measure; None where it is undefined."""
    numbers = np.stack(estimate).tolist()
    return {
        name: {
            measure: [None if np.isnan(each[i][k]) else each[i][k] for each in numbers]
            for i, measure in enumerate(MEASURES)
        }
        for k, name in enumerate(names)
    }
