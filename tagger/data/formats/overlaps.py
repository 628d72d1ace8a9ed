"""Entities that overlap, or that lie in one another."""

from bisect import bisect_left, bisect_right
from typing import List, NamedTuple

from tagger.data.formats.annotated_text import AnnotatedText, Annotation

#: What to do with overlapping entities.
OVERLAPPING = ("refuse", "longest", "outermost")


class WithoutOverlaps(NamedTuple):
    """A text whose entities do not overlap, and the entities that it lost.

    Attributes:
        text: The text.
        dropped: The entities that were dropped, in order.
    """

    text: AnnotatedText
    dropped: List[Annotation]


def check_overlaps(text: AnnotatedText, how: str = "refuse") -> WithoutOverlaps:
    """Drops entities of a text until none overlap.

    Args:
        text: The text.
        how: `refuse` for an error if entities overlap; `longest` to keep the longest of those that
            overlap, and of equally long ones the first; `outermost` to drop those that lie in others,
            and to refuse those that overlap in part.

    Raises:
        ValueError: If entities overlap and are not to be dropped.

    Example:
        >>> entities = [Annotation("ORG", 0, 18), Annotation("LOC", 14, 18)]
        >>> text = AnnotatedText("University of York", entities, None, None, "demo", {})
        >>> check_overlaps(text, "longest").dropped
        [Annotation(label='LOC', start=14, end=18)]
    """
    if how not in OVERLAPPING:
        raise ValueError(f"`overlapping` is {how!r}, expected one of {', '.join(OVERLAPPING)}")
    # Longer ones come first, so that an entity meets those in which it may lie.
    by_length = sorted(text.entities, key=lambda entity: (entity.start - entity.end, entity.start))
    # In order, and none overlaps with another.
    kept: List[Annotation] = []
    dropped: List[Annotation] = []
    for entity in by_length:
        first = bisect_right(kept, entity.start, key=lambda each: each.end)
        last = bisect_left(kept, entity.end, key=lambda each: each.start)
        rivals = kept[first:last]
        if not rivals:
            kept.insert(first, entity)
        elif how == "longest" or (
            how == "outermost"
            and any(each.start <= entity.start and entity.end <= each.end for each in rivals)
        ):
            dropped.append(entity)
        else:
            raise ValueError(_message(text, rivals[0], entity, how))
    return WithoutOverlaps(text._replace(entities=kept), sorted(dropped, key=_position))


def _position(entity: Annotation) -> tuple[int, int]:
    return entity.start, entity.end


def _message(text: AnnotatedText, first: Annotation, second: Annotation, how: str) -> str:
    names = (
        f"{entity.label} {text.text[entity.start : entity.end]!r} at {entity.start} to {entity.end}"
        for entity in sorted((first, second), key=_position)
    )
    remedy = "'longest'" if how == "outermost" else "'longest' or 'outermost'"
    return (
        f"{text.place}: entities overlap, {' and '.join(names)}; correct one, or drop some: set "
        f"`overlapping` (`--overlapping`) to {remedy}"
    )
