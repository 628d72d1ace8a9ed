"""A cross-validated bias against new labels, so that the tagger still finds the old ones.

The file says where new labels are, and the old tagger where old entities are. Taggers trained without a
part of the file are evaluated against both on that part.

Letters: `G` biases, `C` labels.
"""

import itertools
import json
from pathlib import Path
from typing import List, Optional, Sequence, cast

import numpy as np
import torch
from allennlp.common import Params
from allennlp.common.util import lazy_groups_of, prepare_environment
from allennlp.data import DatasetReader, Instance

from tagger.common.console import say
from tagger.common.files import write_atomically
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.metrics.label_metrics import precision_recall_f1
from tagger.models import SequenceTagger
from tagger.spans import TagSet, spans_to_tags, tags_to_spans
from tagger.tools.labels.student import (
    NewSentences,
    keep_what_is_known,
    make_student,
    train_student,
)
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.labelled_file import decoding_tuner

#: The candidate biases, in nats.
BIASES = tuple(-step / 4 if step else 0.0 for step in range(17))
#: The number of parts of the file, and the folder for the taggers trained without one of them.
NUM_PARTS, PARTS_NAME = 3, "parts"
_BATCH_SIZE = 32


def cross_validated_bias(
    model: SequenceTagger,
    sentences: NewSentences,
    reader: DatasetReader,
    params: Params,
    folder: Path,
    most_lost: Optional[float],
) -> float:
    """Returns the bias of the new labels, or 0 if none is wanted or there are too few sentences.

    The counts for each part of the file are saved, so that an interrupted call can resume.
    """
    if most_lost is None:
        return 0.0
    if len(sentences.instances) < NUM_PARTS:
        say("There are too few sentences to choose a bias for the new labels")
        return 0.0
    # Consecutive parts, because the sentences of a document are neighbours and should stay together.
    bounds = np.linspace(0, len(sentences.instances), NUM_PARTS + 1).astype(int).tolist()
    counts = np.zeros((), np.int64)
    for number, (start, end) in enumerate(itertools.pairwise(bounds), start=1):
        place = folder / PARTS_NAME / str(number)
        file = place / "counts.json"
        if not file.exists():
            say(f"Holding out part {number} of {NUM_PARTS} to choose the bias of the new labels")
            place.mkdir(parents=True, exist_ok=True)
            own = params.duplicate()
            own.pop("validation_data_path", None)
            prepare_environment(own)
            # The run's folder has the transformer.
            student = make_student(model, sentences.new, own, folder)
            keep_what_is_known(model, student, sentences.instances)
            others = [*sentences.instances[:start], *sentences.instances[end:]]
            train_student(student, others, reader, own, place)
            held_out = with_old_entities(model, sentences.instances[start:end])
            found = counts_by_bias(student, held_out, sentences.new)
            with write_atomically(file) as path:
                path.write_text(json.dumps(found.tolist()), encoding="utf-8")
        counts = counts + np.array(json.loads(file.read_text(encoding="utf-8")))
    bias = choose_bias(counts, most_lost)
    before, after = (100 * f1_by_bias(counts)[BIASES.index(each)] for each in (0.0, bias))
    say(
        f"Bias of the new labels: {bias:g}. On held-out parts, F1 of new labels is {after[0]:.1f} "
        f"({before[0]:.1f} without it), and of what the old tagger finds {after[1]:.1f} "
        f"({before[1]:.1f})"
    )
    return bias


def with_old_entities(tagger: SequenceTagger, instances: Sequence[Instance]) -> List[Instance]:
    """Adds the entities that a tagger finds to the labels of sentences, unless they contradict them.

    They are added where annotators of new labels left the token open; all other such tokens become
    outside. Tags that are labelled, or that nobody looked at, do not change.
    """
    encoding = cast(str, tagger.tag_encoding)
    completed = []
    for group in lazy_groups_of(iter(instances), _BATCH_SIZE):
        # The old tagger does not know all tags of the sentences.
        fields = [{k: v for k, v in each.fields.items() if k != "tags"} for each in group]
        with torch.no_grad():
            predictions = tagger.eval().predict_instances([Instance(each) for each in fields])
        for instance, found in zip(group, predictions):
            field = cast(TagSetsField, instance["tags"])
            sets = field.tag_sets
            is_open = [is_opened(each) for each in sets]
            spans = [
                (label, (first, last))
                for label, (first, last) in tags_to_spans(found.tags or [], encoding)
                if all(is_open[first : last + 1])
            ]
            tags = spans_to_tags(spans, len(sets), encoding)
            new = [
                TagSet(frozenset([tag])) if may_change else each
                for tag, each, may_change in zip(tags, sets, is_open)
            ]
            tags_field = TagSetsField(new, field.sequence_field, field._label_namespace)
            completed.append(Instance({**instance.fields, "tags": tags_field}))
    return completed


def is_opened(tags: TagSet) -> bool:
    """Whether annotators of new labels found none at a token; it may still belong to an old label."""
    return tags.tags == {"O"} and bool(tags.labels) and bool(tags.other_prefixes)


def counts_by_bias(
    tagger: SequenceTagger, instances: Sequence[Instance], labels: Sequence[str]
) -> np.ndarray:
    """Returns true positives, predicted and gold entities under each of `BIASES`, (G, 3, 2) int64.

    On the last axis, new labels come first, then old ones. Each bias applies to all new labels.
    """
    tuner = decoding_tuner(tagger, instances, _BATCH_SIZE, in_order=True)
    is_new = np.isin(tuner.labels, labels)
    by_label = np.stack(
        [tuner.counts(Settings(dict.fromkeys(labels, bias), {})) for bias in BIASES]
    )
    return np.stack([by_label[:, :, kind].sum(2) for kind in (is_new, ~is_new)], axis=2)


def choose_bias(counts: np.ndarray, most_lost: float) -> float:
    """Returns the bias with the best F1 of new labels among those that keep the old ones.

    Under this bias, the F1 of old labels is at most `most_lost` below their best F1 under any bias.
    `counts` are from `counts_by_bias`, summed over the parts of the file.
    """
    new, old = f1_by_bias(counts).T
    may_be = old >= old.max() - most_lost
    return BIASES[int(np.where(may_be, new, -1).argmax())]


def f1_by_bias(counts: np.ndarray) -> np.ndarray:
    """Returns the F1 of new and of old labels under each bias, (G, 2)."""
    f1: np.ndarray = precision_recall_f1(counts.transpose(1, 0, 2))[2]
    return f1
