"""All tag sequences of each encoding, and the legal ones."""

import functools
from itertools import pairwise, product

from tagger.spans import allowed_transitions
from tests.spans import tagged


def tag_set(encoding, labels=("PER", "LOC")):
    return tagged.tag_set(encoding, labels)


def all_sequences(encoding, max_length=4, **kwargs):
    for length in range(max_length + 1):
        yield from product(tag_set(encoding, **kwargs), repeat=length)


def is_legal(tags, encoding):
    """Whether `tags` are legal by `allowed_transitions`."""
    return all(pair in _allowed(encoding) for pair in pairwise(["start", *tags, "end"]))


@functools.cache
def _allowed(encoding):
    names = dict(enumerate(tag_set(encoding)))
    ends = {len(names): "start", len(names) + 1: "end"}
    allowed = allowed_transitions(encoding, names)
    return {("start", "end"), *(tuple({**names, **ends}[k] for k in pair) for pair in allowed)}
