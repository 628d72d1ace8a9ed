"""What a file that has only new labels says of its tokens."""

from typing import Dict, List, NamedTuple, Sequence

from allennlp.data import Instance

from tagger.data.fields import TagSetsField
from tagger.spans import TagSet
from tagger.spans.encodings import rules_of


class NewSentences(NamedTuple):
    """What is in the new file."""

    # Its sentences, or documents. `tags` are the sets of tags that tokens may have.
    instances: List[Instance]
    counts: Dict[str, int]  # The number of entities of each label
    new: List[str]  # The labels that the tagger does not know, sorted


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
