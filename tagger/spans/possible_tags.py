"""The tags that tokens may have if some tags of a sentence are unknown."""

from functools import lru_cache
from typing import FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from tagger.spans.conversion import convert_tags, spans_to_tags, tags_to_spans
from tagger.spans.encodings import join_tag, prefixes_of, split_tag
from tagger.spans.transitions import IllegalTagError, check_tags, may_follow

# Stands for all labels that a set of tags does not name, because they are interchangeable.
_OTHER = "\0"


class TagSet(NamedTuple):
    """The tags that a token may have.

    Attributes:
        tags: `O`, and the tags of the labels that `labels` names.
        labels: The labels that the tags around the token name.
        other_prefixes: The prefixes that every other label may have.
    """

    tags: FrozenSet[str]
    labels: FrozenSet[str] = frozenset()
    other_prefixes: FrozenSet[str] = frozenset()

    def allows(self, tag: str) -> bool:
        """Says whether the token may have this tag of the target encoding."""
        if tag in self.tags:
            return True
        prefix, label = split_tag(tag)
        return prefix in self.other_prefixes and label not in self.labels

    @property
    def only_tag(self) -> Optional[str]:
        """The one tag that the token may have, `None` if there are several."""
        return next(iter(self.tags)) if len(self.tags) == 1 and not self.other_prefixes else None

    @property
    def only_label(self) -> Optional[str]:
        """The label that all tags of the set have, `None` if they differ or one of them is `O`."""
        labels = {split_tag(tag)[1] for tag in self.tags}
        return labels.pop() if len(labels) == 1 and not self.other_prefixes else None


def possible_tags(tags: Sequence[str], source: str, target: str, unknown_tag: str) -> List[TagSet]:
    """Returns the tags of another encoding that each token of a sentence may have.

    A tag is possible if there are tags of encoding `source` for all unknown tokens with which the
    sentence is legal, and with which it has this tag here when it is converted. In BIO `B-PER ?`, the
    first token may be a whole name, which BIOUL spells `U-PER`, or the beginning of one, `B-PER`.

    Each set is exact, but a choice of one tag from each set is not always a legal sequence.

    Args:
        tags: The tags of one sentence.
        source: Their encoding.
        target: The encoding to return, which may be the same, but not IO.
        unknown_tag: The string that stands for an unknown tag.

    Raises:
        IllegalTagError: If the sentence is illegal, whatever the unknown tags are.

    Example:
        >>> ann, lee = possible_tags(["I-PER", "?"], "IOB1", "BIOUL", unknown_tag="?")
        >>> sorted(ann.tags), ann.only_label
        (['B-PER', 'U-PER'], 'PER')
    """
    check_tags(tags, source, unknown_tag)
    if unknown_tag not in tags:
        return [_only(tag) for tag in convert_tags(tags, source, target)]
    # A sentence starts as after an `O` and ends as before one.
    possible = [_only("O"), *_readings(tags, source, unknown_tag), _only("O")]
    return [
        _converted(before.tags, token, after.tags, source, target)
        for before, token, after in zip(possible, possible[1:], possible[2:])
    ]


@lru_cache(maxsize=4096)
def _only(tag: str) -> TagSet:
    return TagSet(frozenset([tag]))


def _readings(tags: Sequence[str], source: str, unknown_tag: str) -> Iterator[TagSet]:
    """Yields the tags of the same encoding that each token may have; `_OTHER` is one of the labels."""
    before, num_unknown = "O", 0
    for position, tag in enumerate([*tags, "O"]):
        if tag == unknown_tag:
            num_unknown += 1
            continue
        run = _readings_between(before, num_unknown, tag, source)
        if run is None:
            raise IllegalTagError(
                f"`{tag}` at position {position} is no legal {source} tag after `{before}` at position "
                f"{position - num_unknown - 1}, whatever the unknown tags between are; correct one of "
                "them",
                position,
            )
        yield from run
        if position < len(tags):
            yield _only(tag)
        before, num_unknown = tag, 0


@lru_cache(maxsize=65536)
def _readings_between(
    before: str, num_unknown: int, after: str, source: str
) -> Optional[Tuple[TagSet, ...]]:
    """Returns the tags that unknown tokens between two known tags may have, `None` if none fit."""
    if num_unknown == 0:
        return ()
    split = [split_tag(tag, source) for tag in (before, after)]
    labels = {label for _, label in split if label is not None}
    universe = ["O"] + [
        join_tag(prefix, label, source)
        for prefix in sorted(set(prefixes_of(source)))
        for label in (*labels, _OTHER)
    ]
    forward, backward = [{before}], [{after}]
    for _ in range(num_unknown):
        forward.append(
            {t for t in universe if any(_beginning(source, old, t) for old in forward[-1])}
        )
        backward.append(
            {t for t in universe if any(_beginning(source, t, new) for new in backward[-1])}
        )
    sets = [one & other for one, other in zip(forward[1:], reversed(backward[1:]))]
    if not all(sets):
        return None
    return tuple(TagSet(frozenset(tags), frozenset(labels)) for tags in sets)


@lru_cache(maxsize=65536)
def _converted(
    befores: FrozenSet[str], token: TagSet, afters: FrozenSet[str], source: str, target: str
) -> TagSet:
    """Converts the possible tags of a token, which depend only on those of its neighbours."""
    tags, other_prefixes = set(), set()
    for tag in token.tags:
        label = split_tag(tag, source)[1]
        if label is None:
            tags.add(tag)
            continue
        beginnings = {_beginning(source, before, tag) for before in befores} - {None}
        endings = {_beginning(source, tag, after) for after in afters} - {None}
        for beginning in beginnings:
            for goes_on in {ending == "continues" for ending in endings}:
                converted = _spelt(target, label, beginning, goes_on)
                if label == _OTHER:
                    other_prefixes.add(split_tag(converted)[0])
                else:
                    tags.add(converted)
    return TagSet(frozenset(tags), token.labels, frozenset(other_prefixes))


@lru_cache(maxsize=65536)
def _beginning(source: str, before: str, tag: str) -> Optional[str]:
    """Whether a tag `"continues"` a span, is `"adjacent"` to it or `"alone"`, or `None` if illegal."""
    # In IOB1 every sequence can be read.
    if source != "IOB1" and not may_follow(source, before, tag):
        return None
    labels = [label for label, _ in tags_to_spans([before, tag], source)]
    if len(labels) == 2:
        return "adjacent" if labels[0] == labels[1] else "alone"
    return "continues" if "O" not in (before, tag) else "alone"


@lru_cache(maxsize=4096)
def _spelt(target: str, label: str, beginning: str, goes_on: bool) -> str:
    """Returns the tag in the middle of three tokens of a span that begins and ends like this."""
    span = (label, (0 if beginning == "continues" else 1, 2 if goes_on else 1))
    adjacent = [(label, (0, 0))] if beginning == "adjacent" else []
    return spans_to_tags([*adjacent, span], 3, target)[1]
