"""Handles entities that overlap or are nested."""

from bisect import bisect_left, bisect_right
from typing import List, Tuple

from tagger.data.formats.annotated_text import AnnotatedText, Annotation
from tagger.data.reading import OVERLAPPING

#: What to do about them in commands and readers that can drop some.
REMEDY = "correct one, or drop some: set `overlapping` (`--overlapping`) to {}"


def check_overlaps(
    text: AnnotatedText, how: str = "refuse", by_label: bool = False, remedy: str = REMEDY
) -> Tuple[AnnotatedText, List[Annotation]]:
    """Drops entities of a text until none overlap; also returns the dropped ones.

    Args:
        text: The text.
        how: `refuse` for an error if entities overlap; `longest` to keep the longest of overlapping
            entities, or the first of equally long ones; `outermost` to drop nested entities, with an
            error for partial overlaps.
        by_label: Whether entities of different labels may overlap.
        remedy: What to do, for the message; `{}` stands for the ways to drop some.

    Raises:
        ValueError: If entities overlap and must not be dropped.

    Example:
        >>> entities = [Annotation("ORG", 0, 18), Annotation("LOC", 14, 18)]
        >>> text = AnnotatedText("University of York", entities, None, None, "demo", {})
        >>> check_overlaps(text, "longest")[1]
        [Annotation(label='LOC', start=14, end=18)]
    """
    if how not in OVERLAPPING:
        raise ValueError(f"`overlapping` is {how!r}, expected one of {', '.join(OVERLAPPING)}")
    if by_label:
        labels = sorted({entity.label for entity in text.entities})
        of_labels = [[each for each in text.entities if each.label == label] for label in labels]
        found = [
            check_overlaps(text._replace(entities=own), how, remedy=remedy) for own in of_labels
        ]
        kept = [entity for own, _ in found for entity in own.entities]
        dropped = [entity for _, own in found for entity in own]
        return text._replace(entities=_in_order(kept)), _in_order(dropped)
    # Sorted entities without overlaps.
    kept, dropped = [], []
    # Longer ones come first, so that an entity is compared with those that may contain it.
    for entity in sorted(text.entities, key=lambda each: (each.start - each.end, each.start)):
        first = bisect_right(kept, entity.start, key=lambda each: each.end)
        last = bisect_left(kept, entity.end, key=lambda each: each.start)
        rivals = kept[first:last]
        lies_in_one = any(each.start <= entity.start and entity.end <= each.end for each in rivals)
        if not rivals:
            kept.insert(first, entity)
        elif how == "longest" or (how == "outermost" and lies_in_one):
            dropped.append(entity)
        else:
            ways = "'longest'" if how == "outermost" else "'longest' or 'outermost'"
            one, other = sorted((rivals[0], entity), key=lambda each: each[1:])
            raise ValueError(
                f"{text.place}: entities overlap, {_quoted(text, one)} and {_quoted(text, other)}; "
                f"{remedy.format(ways)}"
            )
    return text._replace(entities=kept), _in_order(dropped)


def _in_order(entities: List[Annotation]) -> List[Annotation]:
    return sorted(entities, key=lambda each: each[1:])


def _quoted(text: AnnotatedText, entity: Annotation) -> str:
    label, start, end = entity
    return f"{label} {text.text[start:end]!r} at {start} to {end}"
