"""All tag sequences of each encoding, and the legal ones."""

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
    names = dict(enumerate(tag_set(encoding)))
    indices = {tag: index for index, tag in names.items()}
    path = [len(names), *(indices[tag] for tag in tags), len(names) + 1]
    allowed = {*allowed_transitions(encoding, names), (len(names), len(names) + 1)}
    return all(pair in allowed for pair in pairwise(path))
