"""The subcommand `allennlp tune-decoding model.tar.gz dev.txt -o precise.tar.gz --recall PER=0.97`."""

import argparse
import json
import math
import shlex
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.models import Archive

from tagger.commands.command import Command, add_shared
from tagger.commands.command_line import load
from tagger.common.console import say
from tagger.common.locations import check_output
from tagger.metrics.label_metrics import metrics_by_label, precision_recall_f1
from tagger.models.tagging_model import spell_model
from tagger.modules.label_thresholds import thresholds_of
from tagger.tools.tuning.commands import answer_sets, thresholds
from tagger.tools.tuning.curves import decoding_curves
from tagger.tools.tuning.decoding import LEAST_TUNED, MEANS, DecodingTuner, Settings
from tagger.tools.tuning.estimates import calibration_errors, fitted_correction
from tagger.tools.tuning.evidence import few_entities, format_evidence, say_changes
from tagger.tools.tuning.features import features_of
from tagger.tools.tuning.goals import OF_MASKS, OF_SEVERAL, PROMISED, Goal
from tagger.tools.tuning.groups import groups_of_file
from tagger.tools.tuning.labelled_file import settings_of, tuner_on_file
from tagger.tools.tuning.promise_record import Promise
from tagger.tools.tuning.tuned_archive import rewrite_archive, write_settings

_OF_SEVERAL_HELP = {
    "--leak": "at most this share of documents misses any entity of these labels: PER,LOC=0.005",
    "--unmasked": "choose from which probability on tokens are masked, so that at most this share of "
    "documents has an unmasked token of such an entity: PER,LOC=0.005, or all=0.05 for every label",
    "--masked": "the same, so that at least this share of such entities is masked: all=0.999",
}


@Subcommand.register("tune-decoding")
class TuneDecoding(Command):
    """Fit a saved tagger's decoding to targets.

    Fit the decoding of a saved tagger to development data, without training: how readily it predicts
    entities of each label. With --target, fit the thresholds of a classifier of documents, or of a
    tagger with the head `sigmoid`.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger")
        add("input_file", type=str, help="the development data")
        add("-o", "--output", type=Path, required=True, help="the archive to write")
        of_labels = {
            "--precision": "maximise recall at a precision of at least this number: PER=0.97",
            "--recall": "maximise precision at a recall of at least this number: PER=0.95",
            "--f-beta": "maximise F-beta, in which recall counts this many times as much as precision: "
            "PER=2; with --confidence, add the F to promise: PER=2:0.9",
        }
        for option, text in of_labels.items():
            add(option, type=_label_and_number, action="append", metavar="LABEL=NUMBER", help=text)
        for option, text in _OF_SEVERAL_HELP.items():
            help = f"with --confidence: {text}"
            add(option, type=_label_and_number, action="append", metavar="LABELS=SHARE", help=help)
        text = (
            "maximise macro F1, by tuning all labels without a target that have at least "
            f"{LEAST_TUNED} entities there"
        )
        add("--macro-f1", action="store_true", help=text)
        text = (
            "what to fit: a bias, which predicts a label more or less often, or a threshold on the "
            "entities' probabilities, which only drops some; by default whichever does better, and "
            "a bias for --macro-f1"
        )
        add("--by", choices=MEANS, help=text)
        text = (
            "promise all targets together for new data of the same kind with this confidence, such as "
            "0.95"
        )
        add("--confidence", type=float, help=text)
        text = (
            "with --confidence: promise for this number of new documents, including their "
            "chance variation"
        )
        add("--for-next", type=int, metavar="NUMBER", help=text)
        text = (
            "with --confidence or --sets: the unit that is drawn independently: document, sentence, the "
            "number of a column (from 0), or a field of the metadata; by default document, if the file "
            "marks documents"
        )
        add("--unit", metavar="FIELD", help=text)
        text = (
            "add curves of each label's precision and recall to the archive, for `serve`; needs "
            "no target"
        )
        add("--curves", action="store_true", help=text)
        text = (
            "correct the probabilities of entities with these data, which may be a few texts of "
            "a new kind; needs no target and does not change predictions"
        )
        add("--recalibrate", action="store_true", help=text)
        add_shared(parser, "--force", "--batch-size", "--cuda-device")
        answer_sets.add_options(parser)
        thresholds.add_options(parser)

    def run(self, args: argparse.Namespace) -> None:
        _check_options(args)
        check_output(args.output, [args.archive_file, args.input_file], args.force)
        archive = load(args)
        if args.target or args.common:
            thresholds.tune_thresholds(args, archive)
        elif thresholds_of(archive.model):
            raise ConfigurationError(
                f"{args.archive_file} holds {spell_model(archive.model)}, of which `--target` and "
                f"`--common` tune the thresholds; add one of these, and leave the other options out"
            )
        elif args.recalibrate:
            _recalibrate(args, archive)
        elif args.sets is not None:
            answer_sets.calibrate_sets(args, archive)
        else:
            _tune(args, archive)
        say(f"Wrote {args.output}")


def _tune(args: argparse.Namespace, archive: Archive) -> None:
    model, reader = archive.model, archive.validation_dataset_reader
    in_order = args.confidence is not None
    tuner = tuner_on_file(model, reader, args.input_file, args.batch_size, in_order)
    tuned = start = settings_of(model)
    goals = _goals(args, tuner)
    promises: List[Promise] = []
    remarks: List[str] = []
    if in_order:
        # Imported lazily, because SciPy's statistics take half a second to import.
        from tagger.tools.tuning.promises import fit_promises

        groups = groups_of_file(reader, args.input_file, tuner.num_sentences, args.unit)
        tuned, promises, remarks = fit_promises(
            tuner, goals, start, args.confidence, groups, args.input_file, args.for_next
        )
    elif goals:
        tuned = tuner.tune(goals, start, [args.by] if args.by else None)
        _check_is_met(args, goals, tuner, start, tuned)
        if args.macro_f1:
            remarks = _left_alone(goals, tuner, start, args.input_file)
    if goals and goals[0].measure not in OF_MASKS:  # masks change no settings
        _print_result([] if in_order else goals, tuner, start, tuned)
        for name, values in tuned._asdict().items():
            say(f"{name}: {json.dumps(values, sort_keys=True)}")
    for remark in remarks:
        say(f"\n{remark}")
    for promise in promises:
        say(f"Promised: {promise}")
    curves = None
    if args.curves:
        curves = decoding_curves(tuner, tuned, Path(args.input_file).name)
    write_settings(args.archive_file, args.output, tuned, args.force, curves, promises)


def _recalibrate(args: argparse.Namespace, archive: Archive) -> None:
    instances = list(archive.validation_dataset_reader.read(args.input_file))
    features = features_of(archive.model, instances, args.batch_size)
    if not features.has_gold.any():
        raise ConfigurationError(
            f"`input_file` {args.input_file} holds no sentence with known tags"
        )
    before, after = calibration_errors(features)
    is_judged = features.candidates.is_predicted & features.has_gold[features.candidates.sentences]
    say(
        f"{features.has_gold.sum()} labelled sentences, {is_judged.sum()} predicted entities: "
        f"calibration error {before:.4f} before, {after:.4f} after (by cross-validation)"
    )
    rows = fitted_correction(features).coefficients.round(4).tolist()
    recalibration = dict(zip(features.labels, rows))
    say(f"recalibration: {json.dumps(recalibration)}")
    rewrite_archive(args.archive_file, args.output, {"recalibration": recalibration}, args.force)


def _check_options(args: argparse.Namespace) -> None:
    has_target = args.macro_f1 or any(getattr(args, measure) for measure in PROMISED)
    of_several = args.target or args.common
    alone = {"recalibrate": args.recalibrate, "sets": args.sets is not None}
    if not (has_target or args.curves or of_several or any(alone.values())):
        raise ConfigurationError(
            "no target is given; add --precision, --recall, --f-beta or --macro-f1, or --curves, "
            "--recalibrate or --sets; or --target for a model of several labels"
        )
    others = has_target or args.curves or args.by or args.confidence is not None or of_several
    for name in (each for each, is_given in alone.items() if is_given):
        if others or all(alone.values()):
            raise ConfigurationError(
                f"`--{name}` cannot be combined with targets, --curves, --by, --confidence or other "
                "such options; run it in a separate command, on the archive that the other writes"
            )
    if args.confidence is None:
        for name in (*OF_SEVERAL, "for_next", *([] if alone["sets"] else ["unit"])):
            if getattr(args, name) is not None:
                raise ConfigurationError(
                    f"`--{name.replace('_', '-')}` is part of a promise; add --confidence, such as 0.95"
                )
    elif args.by or args.macro_f1:
        raise ConfigurationError(
            "`--confidence` goes with neither `--by` nor `--macro-f1`: it reaches a precision by a "
            "threshold, and a recall, an F score or a share of leaks or masks by a bias"
        )


def _goals(args: argparse.Namespace, tuner: DecodingTuner) -> List[Goal]:
    goals = []
    is_promise = args.confidence is not None
    for measure in PROMISED:
        for text, number, level in getattr(args, measure) or []:
            labels = tuple(text.split(",")) if measure in OF_SEVERAL else (text,)
            if measure in OF_MASKS and labels == ("all",) and "all" not in tuner.labels:
                labels = tuple(tuner.labels)
            if level is not None and not (is_promise and measure == "f_beta"):
                raise ConfigurationError(
                    f"`--{measure.replace('_', '-')}` gives `{text}` two numbers; only --f-beta takes a "
                    "second one, the least F, with --confidence"
                )
            if measure != "f_beta":
                goals.append(Goal(labels, measure, number))
            elif level is not None or not is_promise:
                goals.append(Goal(labels, measure, level or 0.0, number))
            else:
                raise ConfigurationError(
                    f"`--f-beta {text}={number:g}` names no F to promise; add it after a colon: "
                    f"{text}={number:g}:0.9"
                )
    if args.macro_f1:
        named = {goal.label for goal in goals}
        goals += [each for each in tuner.macro_f1_goals() if each.label not in named]
        if not goals:
            raise ConfigurationError(
                f"`--macro-f1` needs a label with at least {LEAST_TUNED} entities, and "
                f"{args.input_file} has none; give more sentences, or name a target for each label"
            )
    return goals


def _left_alone(
    goals: Sequence[Goal], tuner: DecodingTuner, settings: Settings, file: str
) -> List[str]:
    """Says which labels `--macro-f1` does not tune, if any, and why."""
    named = {goal.label for goal in goals}
    num_gold = dict(zip(tuner.labels, tuner.counts(settings)[2].tolist()))
    few = [f"{label} ({num_gold[label]})" for label in tuner.labels if label not in named]
    if not few:
        return []
    return [
        f"Not tuned, because {file} has fewer than {LEAST_TUNED} of their entities: "
        f"{', '.join(few)}; label more texts in which they occur"
    ]


def _print_result(
    goals: Sequence[Goal], tuner: DecodingTuner, start: Settings, tuned: Settings
) -> None:
    counts = tuner.counts(tuned)
    before, after = (metrics_by_label(tuner.labels, each) for each in (tuner.counts(start), counts))
    say_changes(tuner.labels, before, after, {goal.label for goal in goals})
    if start == tuned:
        say("The tagger meets all targets as it is; its settings are unchanged\n")
    if not goals:
        return
    say(f"{format_evidence(goals, tuner.labels, counts)}\n")
    warning = few_entities(goals, tuner.labels, counts)
    if warning:
        say(f"{warning}\n")


def _label_and_number(text: str) -> Tuple[str, float, Optional[float]]:
    """Parses `PER=0.97`, or `PER=2:0.9` with a second number."""
    label, equals, numbers = text.rpartition("=")
    number, _, level = numbers.partition(":")
    try:
        if not equals:
            raise ValueError
        return label, float(number), float(level) if level else None
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a label and a number, such as PER=0.97; got {text!r}"
        ) from None


def _missed(
    goals: Sequence[Goal], tuner: DecodingTuner, settings: Settings
) -> Dict[Goal, Tuple[float, float]]:
    """Returns the targets that settings miss, with the precision and recall that they reach."""
    counts = tuner.counts(settings)
    reached = dict(zip(tuner.labels, precision_recall_f1(counts)[:2].T.tolist()))
    return {goal: reached[goal.label] for goal in goals if not goal.merit(counts, tuner.labels)[0]}


def _check_is_met(
    args: argparse.Namespace,
    goals: Sequence[Goal],
    tuner: DecodingTuner,
    start: Settings,
    tuned: Settings,
) -> None:
    """Refuses targets that `tuned` misses, and suggests a command known to meet these or lower ones."""
    missed = _missed(goals, tuner, tuned)
    if not missed:
        return
    remedy = "set a lower target"
    attempts: List[Tuple[Sequence[Goal], Optional[str]]] = [(goals, None)] if args.by else []
    attempts.append(([_lowered(goal, missed) for goal in goals], args.by))
    for attempt, by in attempts:
        if any(goal.level == 0 for goal in attempt if goal.measure in ("precision", "recall")):
            continue
        if not _missed(attempt, tuner, tuner.tune(attempt, start, [by] if by else None)):
            remedy = f"this command succeeds: {_command(args, attempt, by)}"
            break
    out_of_reach = "; ".join(
        f"a {goal.measure} of {goal.level:g} for `{goal.label}` is out of reach; the best settings "
        f"found have precision {precision:.4f} and recall {recall:.4f}"
        for goal, (precision, recall) in missed.items()
    )
    raise ConfigurationError(f"{out_of_reach}; nothing is written; {remedy}")


def _lowered(goal: Goal, missed: Dict[Goal, Tuple[float, float]]) -> Goal:
    """Returns the reached target closest to a missed one, to four decimals."""
    if goal not in missed:
        return goal
    reached = dict(zip(("precision", "recall"), missed[goal]))[goal.measure]
    return goal._replace(level=math.floor(10_000 * reached) / 10_000)


def _command(args: argparse.Namespace, goals: Sequence[Goal], by: Optional[str]) -> str:
    """Returns the command line with other targets."""
    options = []
    for goal in goals:
        if goal.measure != "macro_f1":
            number = goal.beta if goal.measure == "f_beta" else goal.level
            options += [f"--{goal.measure.replace('_', '-')}", f"{goal.label}={number:.15g}"]
    options += ["--macro-f1"] if args.macro_f1 else []
    options += ["--by", by] if by else []
    options += ["--curves"] if args.curves else []
    options += ["--force"] if args.force else []
    files = [args.archive_file, args.input_file, "-o", args.output]
    return shlex.join(["allennlp", "tune-decoding", *map(str, files), *options])
