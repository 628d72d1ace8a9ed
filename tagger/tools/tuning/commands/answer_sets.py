"""The part of `tune-decoding` that calibrates sets of answers."""

import argparse
import datetime
import math
from pathlib import Path
from typing import List, Optional

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.models import Archive

from tagger.common.console import say
from tagger.common.files import sha256_of_file
from tagger.common.ranges import check_number
from tagger.data import NumericSequencesDatasetReader
from tagger.tools.tuning.groups import Groups, groups_of_file, spell_groups
from tagger.tools.tuning.labelled_file import read_instances
from tagger_texts.display import aligned

#: Thresholds allow for rounding.
_MARGIN = 1e-5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the option."""
    text = (
        "calibrate sets of answers for `predict-file --sets`: the entities at a place, and the tag "
        "sequences of a sentence, that hold the truth with this confidence, such as 0.95; no target "
        "is needed"
    )
    parser.add_argument("--sets", type=float, metavar="CONFIDENCE", help=text)


def calibrate_sets(args: argparse.Namespace, archive: Archive) -> None:
    """Writes an archive with thresholds for sets of answers."""
    from tagger.predictors.calibrated_sets import SETS_NAME, CalibratedSets
    from tagger.tools.tuning.answer_sets import scored_items
    from tagger.tools.tuning.tuned_archive import rewrite_archive

    path, confidence, reader = args.input_file, args.sets, archive.validation_dataset_reader
    check_number("--sets", confidence, 0 < confidence < 1, "above 0 and below 1")
    if isinstance(reader, NumericSequencesDatasetReader):
        raise ConfigurationError("`--sets` needs a tagger of texts; this one reads numbers")
    instances = read_instances(reader, path)
    entities, sentences, num_sentences = scored_items(archive.model, instances, args.batch_size)
    groups = groups_of_file(reader, path, num_sentences, args.unit)
    if groups.kind == "sentence" and args.unit is None:
        say(
            f"{path} does not mark its documents, so each sentence counts as one. If some are of the "
            "same text, the sets hold the truth less often than promised: mark documents, or name "
            "them with --unit\n"
        )
    rows = [["", "threshold", "hold the truth", "answers: mean", "median", "more than one"]]
    remarks: List[str] = []
    thresholds = []
    for name, items in (("entities", entities), ("sentences", sentences)):
        own = groups.of_sentence[items.sentences]
        threshold = _threshold(name, items.scores, own, groups, confidence, path, remarks)
        thresholds.append(threshold)
        if threshold is not None:
            sizes = items.sizes(threshold)
            shown = f"{1 - threshold:.4g}" if name == "entities" else f"{threshold:.4g}"
            share = f"{(items.scores <= threshold).mean():.4f}"
            of_sizes = f"{sizes.mean():.2f}", f"{np.median(sizes):g}", f"{(sizes > 1).mean():.4f}"
            rows.append([name, shown, share, *of_sizes])
    if thresholds == [None, None]:
        raise ConfigurationError(f"{'; '.join(remarks)}; nothing is written")
    of_entities, of_sentences = thresholds
    num_units = spell_groups(groups.number, groups.kind)
    say(f"Sets at {100 * confidence:g} % from {num_units} of {path}:\n")
    say("\n".join(aligned(rows)))
    for remark in remarks:
        say(f"\n{remark[0].upper()}{remark[1:]}")
    record = CalibratedSets(
        confidence=confidence,
        unit=groups.kind,
        num_units=groups.number,
        least_probability=None if of_entities is None else (1 - of_entities) * (1 - _MARGIN),
        most_before=None if of_sentences is None else min(1.0, of_sentences * (1 + _MARGIN)),
        num_entities=len(entities.scores),
        num_sentences=len(sentences.scores),
        data=Path(path).name,
        sha256=sha256_of_file(cached_path(path)),
        date=datetime.date.today().isoformat(),
    )
    added = {SETS_NAME: record.to_json()}
    rewrite_archive(args.archive_file, args.output, {}, args.force, (SETS_NAME,), added)


def _threshold(
    name: str,
    scores: np.ndarray,
    of_items: np.ndarray,
    groups: Groups,
    confidence: float,
    path: str,
    remarks: List[str],
) -> Optional[float]:
    """Returns the threshold of a kind of items; adds a remark and returns None if there is none."""
    from tagger.tools.tuning.answer_sets import (
        hierarchical_quantile,
        largest_confidence,
        num_groups_needed,
    )

    threshold = hierarchical_quantile(scores, of_items, confidence)
    if threshold < math.inf:
        return threshold
    number, needed = len(np.unique(of_items)), num_groups_needed(confidence)
    if number < needed:
        gold = "entities" if name == "entities" else "tags"
        remarks.append(
            f"sets of {name} at {100 * confidence:g} % need {spell_groups(needed, groups.kind)} with "
            f"gold {gold}, and {path} has {number}; give more, or a lower confidence"
        )
    else:
        remarks.append(
            f"sets of {name} cannot hold the truth with {100 * confidence:g} %, because the tagger "
            "gives too many true answers almost no probability; they can with "
            f"--sets {largest_confidence(scores, of_items):g}"
        )
    return None
