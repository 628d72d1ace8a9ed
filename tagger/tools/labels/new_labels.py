"""New labels for a saved tagger: its tags, its weights, and what a file says of its tokens.

Letters: `J` tags of the old tagger, `K` tags of the new one, whose first `J` are those of the old one.
"""

import copy
from typing import Dict, List, NamedTuple, Sequence

import torch
from allennlp.data import Instance, Vocabulary

from tagger.data.fields import TagSetsField
from tagger.spans import TagSet, complete_tags, split_tag
from tagger.spans.encodings import join_tag, rules_of


class NewSentences(NamedTuple):
    """What is in the new file.

    Attributes:
        instances: Its sentences, or documents. `tags` are the sets of tags that tokens may have.
        counts: The number of entities of each label.
        new: The labels that the tagger does not know, sorted.
    """

    instances: List[Instance]
    counts: Dict[str, int]
    new: List[str]


def with_new_tags(
    vocab: Vocabulary, namespace: str, labels: Sequence[str], encoding: str
) -> Vocabulary:
    """Returns a copy of a vocabulary with the tags of new labels after the old ones."""
    extended = copy.deepcopy(vocab)
    rules = rules_of(encoding)
    tags = extended.get_token_to_index_vocabulary(namespace)
    first_tags = [join_tag(rules.places[0], label) for label in labels]
    for tag in complete_tags([*tags, *first_tags], encoding):
        extended.add_token_to_namespace(tag, namespace)
    return extended


#: How much less probable than outside a new tag starts, in nats.
_DISCOUNT = 1.0


def with_new_rows(
    weights: Dict[str, torch.Tensor], old: Sequence[str], new: Sequence[str]
) -> Dict[str, torch.Tensor]:
    """Returns a tagger's weights with rows for new tags, and all others as they are.

    To the old tagger, entities of a new label are outside. So the emissions of new tags start as those
    of `O`, a little lower. A transition score starts as the mean over the old labels.

    Args:
        weights: The weights by name.
        old: The J old tags.
        new: The K new tags, the old ones first.
    """
    places = {tag: k for k, tag in enumerate(old)}
    analogies = []
    for label in sorted({split_tag(tag)[1] or "" for tag in old if tag != "O"}):
        analogous = [join_tag(split_tag(tag)[0], label) for tag in new[len(old) :]]
        analogies.append([*range(len(old)), *(places[tag] for tag in analogous)])
    grown = dict(weights)
    for name in map("head.crf.{}transitions".format, ("", "start_", "end_")):
        if name in weights:
            each = [weights[name][rows] for rows in analogies]
            if weights[name].dim() == 2:
                each = [values[:, rows] for values, rows in zip(each, analogies)]
            grown[name] = torch.stack(each).mean(0)
    as_outside = [*range(len(old)), *[places["O"]] * (len(new) - len(old))]
    for name in ("projection.weight", "projection.bias"):
        grown[name] = weights[name][as_outside]
    grown["projection.bias"][len(old) :] -= _DISCOUNT
    return grown


def open_outside(field: TagSetsField, labels: Sequence[str], encoding: str) -> TagSetsField:
    """Returns the tags that tokens may have if annotators have looked for these labels alone.

    Where they saw nothing, a token may be outside or part of an entity of any other label. Where nobody
    looked, it may have any tag.
    """
    rules = rules_of(encoding)
    prefixes = frozenset(rules.places + rules.opening)
    outside, unknown = (TagSet(frozenset("O"), frozenset(each), prefixes) for each in (labels, ()))
    opened = [
        tags if "O" not in tags.tags else outside if tags.only_tag else unknown
        for tags in field.tag_sets
    ]
    return TagSetsField(opened, field.sequence_field, field._label_namespace)
