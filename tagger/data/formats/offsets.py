"""Offsets of entities: their units, and entities that cannot be."""

from itertools import accumulate
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence

from tagger.data.formats.annotated_text import Annotation
from tagger_onnx.segments import cuts_word

#: What offsets may count. JavaScript counts UTF-16 units, in which an emoji is two.
UNITS = ("characters", "bytes", "utf16")


class RawEntity(NamedTuple):
    """An entity as a file spells it.

    Attributes:
        label: Its label.
        start: The offset of its first character, in the unit of the file.
        end: The offset behind its last character.
        quote: Its characters, where the file repeats them.
    """

    label: Any
    start: Any
    end: Any
    quote: Optional[str] = None


def checked_entities(
    text: str, entities: Iterable[RawEntity], place: str, offsets: Optional[str] = None
) -> List[Annotation]:
    """Returns the entities of a text in order, with offsets in characters.

    Args:
        text: The text.
        entities: As the file has them.
        place: Where the text comes from, for messages.
        offsets: What they count, one of `UNITS`. None for characters, unless the text shows that they
            count something else, which is an error.

    Raises:
        ValueError: If an entity is empty, lies outside the text, has no label or offsets, or differs
            from the characters that the file repeats; if offsets seem to be of another unit.
    """
    if offsets not in (None, *UNITS):
        raise ValueError(f"`offsets` is {offsets!r}, expected one of {', '.join(UNITS)}")
    entities = list(entities)
    for entity in entities:
        _check_types(entity, place)
    found = _in_characters(text, entities, offsets or "characters")
    if offsets is None and not text.isascii():
        fits = {unit: _in_characters(text, entities, unit) for unit in UNITS[1:]}
        if not _is_plausible(text, entities, found):
            for unit, other in fits.items():
                if _is_plausible(text, entities, other):
                    raise ValueError(
                        f"{place}: offsets seem to count {_NAMES[unit]}, not characters; set `offsets` "
                        f"to {unit!r} (`--offsets {unit}`), or to 'characters' to take them as they are"
                    )
    for entity, annotation in zip(entities, found):
        _check_range(text, entity, annotation, place)
    return sorted(
        (each for each in found if each is not None), key=lambda each: (each.start, each.end)
    )


_NAMES = {"bytes": "bytes of UTF-8", "utf16": "UTF-16 units, as JavaScript does"}


def _check_types(entity: RawEntity, place: str) -> None:
    if not isinstance(entity.label, str) or not entity.label:
        raise ValueError(
            f"{place}: expected the label of an entity, a string, got {entity.label!r}"
        )
    if not isinstance(entity.quote, (str, type(None))):
        raise ValueError(f"{place}: expected the text of an entity, a string, got {entity.quote!r}")
    for name, value in (("start", entity.start), ("end", entity.end)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(
                f"{place}: expected an integer as {name} of entity {entity.label}, got {value!r}"
            )


def _check_range(
    text: str, entity: RawEntity, annotation: Optional[Annotation], place: str
) -> None:
    name = f"{place}: entity {entity.label} at {entity.start} to {entity.end}"
    if entity.start >= entity.end:
        raise ValueError(f"{name} is empty; correct its offsets or remove it")
    if annotation is None:
        raise ValueError(
            f"{name} is not within its text of {len(text)} characters; correct its offsets, or say "
            f"what they count with `offsets`, one of {', '.join(UNITS)}"
        )
    quote = text[annotation.start : annotation.end]
    if entity.quote is not None and not _is_quote(entity.quote, quote):
        raise ValueError(
            f"{name} is {quote!r} in the text, but {entity.quote!r} in the record; correct one of them"
        )


def _is_quote(quote: str, characters: str) -> bool:
    """Whether two strings differ in white space at most, since tools trim it and replace line breaks."""
    return quote.split() == characters.split()


def _in_characters(
    text: str, entities: Sequence[RawEntity], unit: str
) -> List[Optional[Annotation]]:
    """Converts offsets of a unit; None for an entity that is empty or ends outside or in a character."""
    positions: Dict[int, int] = _positions(text, unit)
    found: List[Optional[Annotation]] = []
    for label, start, end, _ in entities:
        if start < end and start in positions and end in positions:
            found.append(Annotation(label, positions[start], positions[end]))
        else:
            found.append(None)
    return found


def _positions(text: str, unit: str) -> Dict[int, int]:
    """Returns the number of the character at which each offset lies."""
    widths = {
        "characters": lambda _: 1,
        "bytes": lambda character: len(character.encode("utf-8", "surrogatepass")),
        "utf16": lambda character: 1 + (character > "\uffff"),
    }[unit]
    offsets = accumulate((widths(character) for character in text), initial=0)
    return {offset: position for position, offset in enumerate(offsets)}


def _is_plausible(
    text: str, entities: Sequence[RawEntity], found: Sequence[Optional[Annotation]]
) -> bool:
    """Whether entities lie in the text, are what the file repeats, and begin and end where words do."""
    for entity, annotation in zip(entities, found):
        if annotation is None:
            return False
        start, end = annotation.start, annotation.end
        if entity.quote is not None:
            if not _is_quote(entity.quote, text[start:end]):
                return False
        elif cuts_word(text, start) or cuts_word(text, end):
            return False
    return True
