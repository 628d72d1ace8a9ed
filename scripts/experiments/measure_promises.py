#!/usr/bin/env python
"""Measures how often promises of `tune-decoding --confidence` are broken, and what they cost.

    python scripts/experiments/measure_promises.py model.tar.gz data/conll2003/eng.testa \
        data/conll2003/eng.testb \
        --precision PER=0.97 --recall PER=0.97 -o promises.csv

The documents of all files together are treated as the whole population, so the truth is known. Half as
many calibration documents are drawn from it with replacement, a thousand times, and each time every
rule chooses a setting. The tagger must not have been trained on the files. For each target and rule,
the table shows

- answers: the share of draws in which the rule found a setting;
- broken: the share of draws in which that setting misses its target on all documents;
- costs: the recall that a promised precision gives up against the best setting known afterwards, or the
  precision that a promised recall gives up, in points, where the rule found a setting. For masks it is
  the share of characters outside all entities that are masked needlessly, in points, and `masked` has
  this share itself.

With `--halves`, documents are drawn without replacement. Promises are for as many new documents as are
left, and are tested on these.

Rules: `promise` is `tune-decoding --confidence`, using its own functions. `point` takes the loosest
setting that meets the target on the drawn data, like `tune-decoding` without a confidence. `z-test`
is a z-test by documents and a binomial tail, from the first setting that passes with 30 or more
entities to the last. `conformal` counts one additional error among the entities (Angelopoulos et al.
2022, "Conformal risk control"), without a confidence, following the description of pull request 374
of GLiNER. `hoeffding` tests every threshold by Hoeffding's bound, with entities as groups, as in
openmed; it does not support recall. `unchanged` is the unchanged tagger.
"""

import argparse
import csv
import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional, cast

import numpy as np
from allennlp.data.fields import TextField
from allennlp.models import Archive, load_archive
from scipy import stats

from tagger.models import TaggingModel
from tagger.spans.finding import tag_tables
from tagger.tools.tuning.decoding import DecodingTuner, Settings
from tagger.tools.tuning.goals import OF_MASKS, OF_SEVERAL, Goal
from tagger.tools.tuning.groups import Groups, groups_of_file
from tagger.tools.tuning.labelled_file import settings_of, tuner_on_file
from tagger.tools.tuning.promise_search import MASK_THRESHOLDS, TriedSettings, settings_for

DRAWS, CONFIDENCES = 1000, (0.95, 0.9)
COLUMNS = (
    *("measure", "labels", "level", "rule", "confidence"),
    *("answers", "broken", "costs", "masked"),
)
MEASURES = ("precision", "recall", *OF_SEVERAL)


class Population(NamedTuple):
    """The effect of each setting of a goal on all documents.

    Attributes:
        tried: The settings that `tune-decoding` tries.
        merit: (M,), the quantity that a promise costs: recall for a precision goal, for masks the share
            of characters outside all entities that are not masked, else precision.
    """

    tried: TriedSettings
    merit: np.ndarray


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    archive = load_archive(options.archive, cuda_device=-1)
    model = cast(TaggingModel, archive.model)
    every = tuple(tag_tables(model.tags, model.tag_encoding).labels)
    populations = _populations(options, archive, every)
    num_documents = next(iter(populations.values())).tried.right.shape[-1]
    size, share = num_documents // 2, np.full(num_documents, 1 / num_documents)
    if options.halves:
        options.for_next = num_documents - size
    print(f"{num_documents} documents, {size} drawn each time, {DRAWS} times", flush=True)
    with open(options.output or sys.stdout.fileno(), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for goal, population in populations.items():
            # The same draws for a goal, whatever else is measured.
            rng = np.random.default_rng([0, zlib.crc32(str(goal).encode())])
            draw, new = rng.multinomial(size, share, DRAWS), None
            if options.halves:
                orders = rng.permuted(np.tile(np.arange(num_documents), (DRAWS, 1)), axis=1)
                draw = (orders < size).astype(int)
                new = 1 - draw
            elif options.for_next:
                new = rng.multinomial(options.for_next, share, DRAWS)
            for row in _rows(goal, population, draw, new, options.for_next):
                labels = "all" if goal.labels == every else " ".join(goal.labels)
                writer.writerow([goal.measure, labels, f"{goal.level:g}", *row])
            file.flush()


def _rows(
    goal: Goal,
    population: Population,
    draw: np.ndarray,
    new: Optional[np.ndarray],
    num_next: Optional[int],
) -> Iterator[tuple[str, ...]]:
    tried, merit = population
    right, total = tried.right[0].astype(float), tried.total[0].astype(float)
    judged = np.ones((1, right.shape[1])) if new is None else new
    with np.errstate(invalid="ignore"):
        truth = (judged @ right.T) / (judged @ total.T)
    # Draws exactly at the level meet it; floats may differ in the last digit.
    is_kept = np.broadcast_to(truth >= goal.least - 1e-9, (len(draw), len(merit)))
    known = np.where(is_kept, merit, -np.inf).max(1)
    p_values = tried.p_values(draw, num_next)
    choices = {
        ("promise", f"{confidence:g}"): tried.pick(p_values, 1 - confidence)
        for confidence in CONFIDENCES
    }
    if goal.measure in OF_MASKS and tried.unchanged is not None:
        choices["unchanged", ""] = np.full(len(draw), tried.unchanged)
    if not num_next:
        choices |= _others(goal, right, total, draw, max(CONFIDENCES))
    for (rule, confidence), chosen in choices.items():
        answers = chosen >= 0
        at = np.flatnonzero(answers), chosen[answers]
        broken = (~is_kept[at]).sum() / len(draw)
        lost = (known[answers] - merit[chosen[answers]])[np.isfinite(known[answers])]
        cost = f"{100 * lost.mean():.2f}" if len(lost) else ""
        masked = ""
        if goal.measure in OF_MASKS and answers.any():
            masked = f"{100 * (1 - merit[chosen[answers]].mean()):.2f}"
        yield rule, confidence, f"{answers.mean():.3f}", f"{broken:.3f}", cost, masked


def _others(
    goal: Goal, right: np.ndarray, total: np.ndarray, draw: np.ndarray, confidence: float
) -> dict[tuple[str, str], np.ndarray]:
    """Returns the settings chosen by the other rules, (D,) each; -1 for none."""
    level, error = goal.least, 1 - confidence
    num_right, num_total = draw @ right.T, draw @ total.T
    with np.errstate(divide="ignore", invalid="ignore"):
        share = num_right / num_total
        gains = right - level * total
        n = draw.sum(1, keepdims=True)
        mean = draw @ gains.T / n
        variance = (draw @ (gains**2).T / n - mean**2) / (n - 1)
        z = mean / np.sqrt(np.maximum(variance, 1e-18))
        tail = stats.binom.cdf(np.round(num_total - num_right), np.round(num_total), 1 - level)
        passes = (np.maximum(stats.norm.sf(z), tail) <= error) & (num_total >= 30)
        begun = np.maximum.accumulate(passes, axis=1)
        goes_on = begun & ~np.maximum.accumulate(begun & ~passes, axis=1)
        bound = share - np.sqrt(np.log(1 / error) / 2 / num_total)
        results = {
            ("z-test", f"{confidence:g}"): goes_on,
            ("point", ""): share >= level,
            ("conformal", ""): (num_total - num_right + 1) / (num_total + 1) <= 1 - level,
        }
        if goal.measure == "precision":
            results["hoeffding", f"{confidence:g}"] = bound >= level
    return {rule: _last(passing) for rule, passing in results.items()}


def _last(passing: np.ndarray) -> np.ndarray:
    last = passing.shape[1] - 1 - passing[:, ::-1].argmax(1)
    return np.where(passing.any(1), last, -1)


def _populations(
    options: argparse.Namespace, archive: Archive, every: tuple[str, ...]
) -> dict[Goal, Population]:
    model, reader = archive.model, archive.validation_dataset_reader
    goals = [
        Goal(every if labels == "all" else tuple(labels.split(",")), measure, level)
        for measure in MEASURES
        for labels, level in getattr(options, measure) or []
    ]
    # Counts do not depend on the level.
    kinds = {(goal.measure, goal.labels): goal for goal in goals}
    parts: dict[tuple[str, tuple[str, ...]], list[tuple[TriedSettings, np.ndarray]]]
    parts = {kind: [] for kind in kinds}
    for path in options.files:
        tuner = tuner_on_file(model, reader, path, in_order=True)
        groups = groups_of_file(reader, path, tuner.num_sentences)
        print(f"{path}: {groups.number} {groups.kind}s", file=sys.stderr, flush=True)
        texts = (cast(TextField, instance["tokens"]) for instance in reader.read(path))
        lengths = np.array([len(token.text or "") for text in texts for token in text])
        for kind, goal in kinds.items():
            parts[kind].append(_part(tuner, goal, settings_of(model), groups, lengths))
    return {goal: _joined(goal, parts[goal.measure, goal.labels]) for goal in goals}


def _part(
    tuner: DecodingTuner, goal: Goal, start: Settings, groups: Groups, lengths: np.ndarray
) -> tuple[TriedSettings, np.ndarray]:
    """Returns the settings, and (2, M): numerator and denominator of the quantity that may be lost.

    `lengths`, (N,), is the number of characters of each token.
    """
    ((tried,),) = settings_for(tuner, [goal], start, groups)
    if goal.measure in OF_MASKS:
        harmless = lengths * ~tuner.sensitive_tokens()
        masks = tuner.masks(start, MASK_THRESHOLDS)
        kept = [harmless @ ~each.of_tokens for each in masks]
        return tried, np.stack([kept, np.full(len(kept), harmless.sum())])
    if goal.measure == "precision":
        num_gold = tuner.counts(start)[2, tuner.labels.index(goal.labels[0])]
        num_right = tried.right[0].sum(1)
        return tried, np.stack([num_right, np.full(len(num_right), num_gold)])
    precision = Goal(goal.labels[:1], "precision", 0.5)
    ((both,),) = settings_for(tuner, [goal, precision], start, groups)
    return tried, np.stack([both.right[1].sum(1), both.total[1].sum(1)])


def _joined(goal: Goal, parts: Sequence[tuple[TriedSettings, np.ndarray]]) -> Population:
    """Concatenates the groups of all files."""
    right, total = (
        np.concatenate([getattr(tried, name) for tried, _ in parts], axis=2)
        for name in ("right", "total")
    )
    num_right, num_total = np.sum([counts for _, counts in parts], axis=0)
    tried = parts[0][0]._replace(goals=(goal,), right=right, total=total)
    return Population(tried, num_right / np.maximum(num_total, 1))


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("archive", metavar="ARCHIVE")
    add("files", nargs="+", metavar="FILE")
    for measure in MEASURES:
        text = f"a {measure} to promise; may be repeated"
        add(f"--{measure}", type=_goal, action="append", metavar="LABEL=LEVEL", help=text)
    text = "test promises on this number of newly drawn documents, and make them for this number"
    add("--for-next", type=int, metavar="NUMBER", help=text)
    add("--halves", action="store_true", help="draw half of the documents, test on the rest")
    add("-o", "--output", help="the CSV file to write (printed)")
    return parser.parse_args(arguments)


def _goal(text: str) -> tuple[str, float]:
    labels, _, level = text.rpartition("=")
    return labels, float(level)


if __name__ == "__main__":
    main()
