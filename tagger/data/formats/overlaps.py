"""Entities that overlap, or that lie in one another."""

from bisect import bisect_left, bisect_right
from typing import List, Tuple

from tagger.data.formats.annotated_text import AnnotatedText, Annotation

#: What to do with overlapping entities.
OVERLAPPING = ("refuse", "longest", "outermost")


def check_overlaps(
    text: AnnotatedText, how: str = "refuse", by_label: bool = False
) -> Tuple[AnnotatedText, List[Annotation]]:
    """Drops entities of a text until none overlap, and returns those that it dropped, too.

    Args:
        text: The text.
        how: `refuse` for an error if entities overlap; `longest` to keep the longest of those that
            overlap, and of equally long ones the first; `outermost` to drop those that lie in others,
            and to refuse those that overlap in part.
        by_label: Whether entities of different labels may overlap.

    Raises:
        ValueError: If entities overlap and are not to be dropped.

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
        found = [check_overlaps(text._replace(entities=own), how) for own in of_labels]
        kept = [entity for own, _ in found for entity in own.entities]
        dropped = [entity for _, own in found for entity in own]
        return text._replace(entities=_in_order(kept)), _in_order(dropped)
    # In order, and none overlaps with another.
    kept, dropped = [], []
    # Longer ones come first, so that an entity meets those in which it may lie.
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
            remedy = "'longest'" if how == "outermost" else "'longest' or 'outermost'"
            one, other = sorted((rivals[0], entity), key=lambda each: each[1:])
            raise ValueError(
                f"{text.place}: entities overlap, {_quoted(text, one)} and {_quoted(text, other)}; "
                f"correct one, or drop some: set `overlapping` (`--overlapping`) to {remedy}"
            )
    return text._replace(entities=kept), _in_order(dropped)


def _in_order(entities: List[Annotation]) -> List[Annotation]:
    return sorted(entities, key=lambda each: each[1:])


def _quoted(text: AnnotatedText, entity: Annotation) -> str:
    label, start, end = entity
    return f"{label} {text.text[start:end]!r} at {start} to {end}"
