"""A bias against new labels under which a tagger goes on finding the old ones, by cross-validation.

The file in which new labels alone are labelled says where they are. Elsewhere the old tagger says what
old entities there are. Taggers that have not seen a part of the file are measured on it against both.

Letters: `G` biases, `C` labels.
"""

import copy
from typing import Dict, List, Sequence, cast

import numpy as np
import torch
from allennlp.common.util import lazy_groups_of
from allennlp.data import Instance

from tagger.data.fields import TagSetsField
from tagger.metrics.label_metrics import precision_recall_f1
from tagger.models import SequenceTagger
from tagger.modules.heads import ChainHead
from tagger.spans import TagSet, spans_to_tags, tags_to_spans
from tagger.tuning.decoding import DecodingTuner, Settings
from tagger.tuning.labelled_file import encoded

#: The biases that are tried, in nats.
BIASES = tuple(-0.25 * step for step in range(17))
_BATCH_SIZE = 32


def with_old_entities(tagger: SequenceTagger, instances: Sequence[Instance]) -> List[Instance]:
    """Returns sentences in which what a tagger finds counts as right, unless it contradicts labels.

    Its entities are added where annotators of new labels have seen none. All else there is outside. Tags
    that are labelled, or that nobody looked at, stay as they are.
    """
    encoding = cast(str, tagger.tag_encoding)
    completed = []
    for group in lazy_groups_of(iter(instances), _BATCH_SIZE):
        with torch.no_grad():
            found = tagger.eval().forward_on_instances([_without_tags(each) for each in group])
        for instance, predicted in zip(group, found):
            field = cast(TagSetsField, instance["tags"])
            sets = field.tag_sets
            is_open = [is_opened(each) for each in sets]
            spans = [
                (label, (first, last))
                for label, (first, last) in tags_to_spans(list(predicted["tags"]), encoding)
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
    """Whether annotators of new labels have seen none at a token, which may be of an old one."""
    return tags.tags == {"O"} and bool(tags.labels) and bool(tags.other_prefixes)


def counts_by_bias(
    tagger: SequenceTagger, instances: Sequence[Instance], labels: Sequence[str]
) -> np.ndarray:
    """Returns true positives, predicted and gold entities under each of `BIASES`, (G, 3, 2) int64.

    The last axis has new labels, then old ones. Each bias is that of all new labels.
    """
    batches = [batch for batch, _, _ in encoded(tagger, instances, _BATCH_SIZE)]
    head = copy.deepcopy(cast(ChainHead, tagger.head))
    tuner = DecodingTuner(head, tagger.tags, cast(str, tagger.tag_encoding), batches)
    is_new = np.isin(tuner.labels, labels)
    by_label = np.stack(
        [tuner.counts(Settings(dict.fromkeys(labels, bias), {})) for bias in BIASES]
    )
    return np.stack([by_label[:, :, kind].sum(2) for kind in (is_new, ~is_new)], axis=2)


def choose_bias(counts: np.ndarray, most_lost: float) -> float:
    """Returns the bias with the best F1 of new labels among those that keep the old ones.

    Args:
        counts: As `counts_by_bias` gives them, summed over the parts of the file.
        most_lost: How much less the F1 of old labels may be than under the best bias, at most.
    """
    new, old = f1_by_bias(counts).T
    may_be = old >= old.max() - most_lost
    return BIASES[int(np.where(may_be, new, -1).argmax())]


def f1_by_bias(counts: np.ndarray) -> np.ndarray:
    """Returns the F1 of new and of old labels under each bias, (G, 2)."""
    f1: np.ndarray = precision_recall_f1(counts.transpose(1, 0, 2))[2]
    return f1


def _without_tags(instance: Instance) -> Instance:
    """Returns an instance without its tags, of which the old tagger does not know all."""
    fields: Dict = {name: field for name, field in instance.fields.items() if name != "tags"}
    return Instance(fields)
