"""Trains on growing parts of a corpus, and predicts what more labels would bring.

Letters: `N` parts, `S` development documents (or sentences, if none are marked), `C` labels.
"""

from pathlib import Path
from statistics import mean
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.common.inputs import bare_suffix
from tagger.data.reading import DETECTED, Reading
from tagger.tools.runs.configs import config_for
from tagger.tools.runs.jobs import Job, default_num_workers, run_jobs, seeded_jobs
from tagger.tools.runs.results import format_rows, read_results
from tagger.tools.runs.work import COUNTS_FILE, SentenceCounts, count_sentences, train
from tagger.tools.start.config import best_metric, listed, make_config
from tagger.tools.start.parts import (
    Division,
    Source,
    divide,
    source_of_columns,
    source_of_texts,
    write_parts,
)
from tagger.tools.start.survey import Survey, SurveyedFile, survey
from tagger.tools.studies.power_law import Forecast, predict_quality
from tagger.transformers.feature_store import own_cache_settings

#: The shares of the training documents that are used by default.
SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
#: The multiples of the training data for which the curve is predicted.
MULTIPLES = (1.5, 2.0, 3.0, 5.0)
_TWICE = MULTIPLES.index(2.0)
#: The files that the command writes into its folder.
FILES = ("curve.json", "summary.md", "curve.svg")
#: Labels with fewer development entities have no curve.
_LEAST_ENTITIES = 10
_NUM_RESAMPLES = 200
#: A run counts for the curve if its quality is this share of the best, or if it is one of the largest.
_BEGUN, _FEWEST = 0.25, 3
#: The number of labels with the largest gains that are named.
_NUM_SHOWN = 3
#: The standard deviation of a run's overall F1 that is due to the seed.
_SEED_SPREAD = 0.005
_PREFIX = "best_validation_"


class Curve(NamedTuple):
    """The quality of taggers trained on growing parts, and what it may become."""

    name: str  # "all", or a label
    qualities: List[float]  # (N,), means over seeds
    predicted: Forecast  # At MULTIPLES of the data


class LearningCurve(NamedTuple):
    """The curves of a corpus; the first is the overall one."""

    metric: str
    noun: str  # What `num_items` counts: sentences or texts
    num_items: List[int]  # (N,)
    left_out: List[str]  # Labels without a curve
    curves: List[Curve]
    not_begun: Sequence[str] = ()  # Labels without a curve, since the largest part finds none

    def table(self) -> str:
        """Formats the curves as a Markdown table in percent: measured, then expected."""
        measured = [f"{number:,} {self.noun}" for number in self.num_items]
        expected = [f"{multiple:g} times as many" for multiple in MULTIPLES]
        rows = {
            each.name: {
                **{title: f"{100 * value:.1f}" for title, value in zip(measured, each.qualities)},
                **{
                    title: "{:.1f} ({:.1f} to {:.1f})".format(*100 * bounds)
                    for title, bounds in zip(expected, np.stack(each.predicted, axis=1))
                },
            }
            for each in self.curves
        }
        return format_rows([*measured, *expected], rows, self.metric)

    def says(self) -> List[str]:
        """Returns the findings in sentences."""
        overall, *of_labels = self.curves
        now, number = 100 * overall.qualities[-1], f"{self.num_items[-1]:,} {self.noun}"
        middle, low, high = (100 * each[_TWICE] for each in overall.predicted)
        lines = [
            f"{self.metric} {now:.1f} with {number}; with twice as many like these, {middle:.1f} "
            f"expected ({low:.1f} to {high:.1f} in 9 of 10 cases)"
        ]
        if low <= now:
            lines.append("  this interval holds today's number: more labels may show no gain")
        gains = {
            each.name: each.predicted.middle[_TWICE] - each.qualities[-1] for each in of_labels
        }
        most = sorted(of_labels, key=lambda each: -gains[each.name])[:_NUM_SHOWN]
        if len(of_labels) > 1:
            shown = (f"{each.name} (+{100 * gains[each.name]:.1f})" for each in most)
            lines.append(f"  these labels gain most: {', '.join(shown)}")
        if self.left_out:
            lines.append(
                f"  without a curve, since the development file has fewer than {_LEAST_ENTITIES} of "
                f"them: {listed(self.left_out)}"
            )
        if self.not_begun:
            lines.append(
                f"  without a curve, since the tagger finds none of them yet: {listed(self.not_begun)}"
            )
        return lines

    def record(self) -> Dict[str, Any]:
        """Returns everything as an object of JSON."""
        curves = {
            each.name: {
                "measured": each.qualities,
                "expected": {name: v.tolist() for name, v in each.predicted._asdict().items()},
            }
            for each in self.curves
        }
        numbers = {"metric": self.metric, "noun": self.noun, "num_items": self.num_items}
        wanted = [multiple * self.num_items[-1] for multiple in MULTIPLES]
        return {**numbers, "num_wanted": wanted, "curves": curves, "says": self.says()}


def learning_curve(
    train_file: Path,
    dev_file: Path,
    folder: Path,
    config: Optional[Mapping[str, Any]] = None,
    shares: Sequence[float] = SHARES,
    seeds: Sequence[int] = (1,),
    num_workers: Optional[int] = None,
    documents: Optional[str] = None,
    reading: Reading = DETECTED,
) -> LearningCurve:
    """Trains on each share of the documents, with each seed, and predicts the curve.

    The parts are nested, each label in its proportion, and no document is divided. An interrupted curve
    goes on where it stopped.

    Args:
        train_file: The training file, as for `start`.
        dev_file: The development file, on which all taggers are measured.
        folder: For the parts, the runs and their logs.
        shares: The shares of the training documents; see `SHARES`.
        seeds: A tagger is trained with each of these.
        num_workers: How many taggers to train at the same time; one per core by default.
        config: A complete config; its files are replaced. Without one, each part gets the config that
            `allennlp start` would write for it.
        documents: What marks the documents of the training file; see `documents_of_rows`.
        reading: How to read the files.
    """
    shares = _checked(shares)
    found = survey([train_file, dev_file], reading)
    if len(found.train) > 1 or len(found.dev) > 1:
        raise ValueError(f"{train_file} and {dev_file}: expected single files, got lists of files")
    if config is None:
        found.warn_of_weights()
    # Parts are written in UTF-8, and so is the copy of the development data.
    found.reading = found.reading_of_parts()
    train, dev = _source_of(found, found.files[0], documents), _source_of(found, found.files[1])
    suffix = ".jsonl" if found.files[0].texts else bare_suffix(train.path) or ".txt"
    dev_path = folder / "parts" / f"dev{suffix}"
    write_parts(divide(dev, {"dev": 1.0}), {"dev": dev_path}, overwrite=True)
    parts = nested_parts(train, shares, documents)
    jobs = _jobs(found, parts, dev_path, config, seeds)
    workers = num_workers or default_num_workers(jobs[0].config)
    failed = run_jobs(jobs, folder, workers, train_and_count)
    if failed:
        raise ConfigurationError(
            f"{len(failed)} of {len(jobs)} taggers failed; see {failed[0].log(folder)}, then repeat the "
            "command, which keeps the others"
        )
    sizes = [len(part.parts[name]) for name, part in parts.items()]
    measured = LearningCurve(best_metric(found), train.noun, sizes, [], [])
    share = sizes[-1] / len(train.items)
    labelled = {label: share * n for label, n in found.count_labels(found.files[0]).items()}
    return _with_curves(measured, jobs, folder, labelled)


def _jobs(
    found: Survey,
    parts: Mapping[str, Division],
    dev_path: Path,
    config: Optional[Mapping[str, Any]],
    seeds: Sequence[int],
) -> List[Job]:
    """Writes the parts next to the development data, and returns the runs, the smallest first."""
    jobs: List[Job] = []
    labels = found.count_labels(*found.files)
    for name, part in parts.items():
        path = dev_path.with_name(f"{name}{dev_path.suffix}")
        write_parts(part, {name: path}, overwrite=True)
        own = config
        if own is None:
            rows = [found.files[0].sentences[n] for n in part.parts[name]]
            proposal = dev_path.with_name(f"{name}.jsonnet")
            text = make_config(found, str(path), str(dev_path), rows)
            proposal.write_text(text, encoding="utf-8")
            own = Params.from_file(proposal).as_dict(quiet=True)
        own = config_for(own, labels, found.scheme.source_encoding, path, dev_path)
        jobs += seeded_jobs({"share": name}, own, seeds)
    return jobs


def nested_parts(
    source: Source, shares: Sequence[float], documents: Optional[str] = None
) -> Dict[str, Division]:
    """Returns a division with one part for each share, each of which has the items of those before."""
    steps = dict(zip(map(str, shares), np.diff([0.0, *shares]).tolist()))
    rest = round(1 - shares[-1], 6)
    division = divide(source, {**steps, "rest": max(rest, 0.0)}, how=documents)
    items: List[int] = []
    nested = {}
    for name in steps:
        items = sorted(items + division.parts[name])
        nested[name] = division._replace(parts={name: items})
    return nested


def train_and_count(config: Mapping[str, Any], folder: Path) -> None:
    """Trains a tagger and counts its results on the development data; this is the work of each job."""
    from allennlp.models import load_archive

    train(config, folder)
    archive = load_archive(folder / "model.tar.gz", overrides=own_cache_settings(dict(config)))
    counts = count_sentences(
        archive.model, archive.validation_dataset_reader, config["validation_data_path"]
    )
    if counts is not None:
        counts.write(folder / COUNTS_FILE)


def _checked(shares: Sequence[float]) -> List[float]:
    if len(set(shares)) < 3 or min(shares) <= 0 or max(shares) > 1:
        raise ValueError(
            "`--shares` must be at least three different numbers above 0 and up to 1, such as "
            f"{' '.join(map(str, SHARES))}; got {' '.join(map(str, shares))}"
        )
    return sorted(set(shares))


def _source_of(found: Survey, file: SurveyedFile, documents: Optional[str] = None) -> Source:
    if file.texts is None:
        return source_of_columns(found, file, documents)
    return source_of_texts(file.texts.texts, file.path, file.texts.format, documents)


def _with_curves(
    measured: LearningCurve, jobs: Sequence[Job], folder: Path, labelled: Mapping[str, float]
) -> LearningCurve:
    """Adds the overall curve, and one for each label that the development data have often enough.

    `labelled` has the number of entities of each label in the largest part.
    """
    by_share: Dict[str, List[Job]] = {}
    for job in jobs:
        by_share.setdefault(job.factors["share"], []).append(job)
    name = f"{_PREFIX}{measured.metric}"
    of_runs = (
        [each.metrics[name] for each in read_results(of, folder)] for of in by_share.values()
    )
    overall = np.array([mean(each) for each in of_runs])
    num_seeds = len(jobs) // len(by_share)
    paths = [[job.folder(folder) / COUNTS_FILE for job in of] for of in by_share.values()]
    if not all(path.exists() for of in paths for path in of):
        spreads = np.full(len(overall), 2 * _SEED_SPREAD / num_seeds**0.5)
        return measured._replace(curves=[_curve("all", measured, overall, spreads)])
    read = [[SentenceCounts.read(path) for path in of] for of in paths]
    labels = read[0][0].labels
    counts = np.stack(
        [np.mean([each.counts for each in of], axis=0) for of in read]
    )  # (N, S, 3, C)
    of_all = _spreads(counts.sum(-1, keepdims=True), num_seeds)[:, 0]
    curves = [_curve("all", measured, overall, of_all)]
    left_out: List[str] = []
    not_begun: List[str] = []
    of_labels, spreads = _f1(counts.sum(1)), _spreads(counts, num_seeds)
    for number, label in enumerate(labels):
        if counts[0, :, 2, number].sum() < _LEAST_ENTITIES:
            left_out.append(label)
        elif of_labels[-1, number] == 0:
            not_begun.append(label)
        else:
            own, spread = of_labels[:, number], spreads[:, number]
            curves.append(_curve(label, measured, own, spread, labelled.get(label)))
    return measured._replace(curves=curves, left_out=left_out, not_begun=not_begun)


def _curve(
    name: str,
    measured: LearningCurve,
    qualities: np.ndarray,
    spreads: np.ndarray,
    num_labelled: Optional[float] = None,
) -> Curve:
    """Predicts a curve; `num_labelled` is the number of a label's entities in the largest part."""
    wanted = [multiple * measured.num_items[-1] for multiple in MULTIPLES]
    # A tagger that has not begun to learn says nothing about the curve.
    kept = qualities >= _BEGUN * qualities.max()
    kept[-_FEWEST:] = True
    sizes = np.array(measured.num_items)[kept]
    qualities_kept, spreads = qualities[kept], spreads[kept]
    if num_labelled is not None:
        spreads = np.hypot(spreads, _sampling_spreads(sizes, qualities_kept, num_labelled))
    predicted = predict_quality(sizes, qualities_kept, spreads, wanted)
    return Curve(name, qualities.tolist(), predicted)


def _sampling_spreads(sizes: np.ndarray, qualities: np.ndarray, num_labelled: float) -> np.ndarray:
    """Returns the standard deviation of a label's F1 that is due to the choice of training texts, (N,).

    A part with n entities of a label is worth n ± sqrt(n) of them (Poisson), so their logarithm varies
    by 1 / sqrt(n), and F1 by as much times the slope of the curve over the logarithm.
    """
    slope = max(0.0, float(np.polyfit(np.log(sizes), qualities, 1)[0]))
    return slope / np.sqrt(np.maximum(num_labelled * sizes / sizes[-1], 1.0))


def _f1(counts: np.ndarray) -> np.ndarray:
    """Returns F1 from counts, (..., 3, C), as (..., C); 0 where there is nothing."""
    right, predicted, gold = np.moveaxis(counts, -2, 0)
    return 2 * right / np.maximum(predicted + gold, 1)


def _spreads(counts: np.ndarray, num_seeds: int) -> np.ndarray:
    """Returns the standard deviation of each part's F1, (N, C), that is due to documents and seeds.

    All parts are measured on the same documents, so the spread is that of differences from the largest
    part, by the bootstrap. A seed shifts each label by itself: the overall F1 is a mean of labels,
    weighted by their shares, so one label varies as much more as the root of their effective number.

    Args:
        counts: (N, S, 3, C).
        num_seeds: How many taggers they are the mean of.
    """
    num_documents = counts.shape[1]
    draws = np.random.default_rng(0).multinomial(
        num_documents, np.full(num_documents, 1 / num_documents), _NUM_RESAMPLES
    )
    drawn = _f1(np.einsum("rs,nsmc->rnmc", draws, counts, optimize=True))  # (R, N, C)
    of_differences = (drawn - drawn[:, -1:]).std(0) / 2**0.5
    of_differences[-1] = of_differences[:-1].min(0)
    gold = counts[0, :, 2].sum(0)
    num_labels = max(gold.sum() ** 2, 1) / max((gold**2).sum(), 1)
    return np.hypot(of_differences, _SEED_SPREAD * (num_labels / num_seeds) ** 0.5)
