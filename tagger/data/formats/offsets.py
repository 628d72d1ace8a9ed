"""Entity offsets: converts their units, and rejects impossible ones."""

from itertools import accumulate
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence

from tagger.data.formats.annotated_text import Annotation
from tagger_texts.segments import cuts_word

#: The units of offsets. JavaScript counts UTF-16 units, of which an emoji has two.
UNITS = {
    "characters": "characters",
    "bytes": "bytes of UTF-8",
    "utf16": "UTF-16 units, as JavaScript does",
    "inclusive": "characters up to the last one of an entity",
}


class RawEntity(NamedTuple):
    """An entity as given in a file: its offsets in the file's unit, and its text, if given."""

    label: Any
    start: Any
    end: Any
    quote: Optional[str] = None


def checked_entities(
    text: str, entities: Iterable[RawEntity], place: str, offsets: Optional[str] = None
) -> List[Annotation]:
    """Returns a text's entities in order, with offsets in characters.

    `offsets` is one of `UNITS`. Without it, offsets count characters, and it is an error if the text
    shows that they count something else.
    """
    if offsets not in (None, *UNITS):
        raise ValueError(f"`offsets` is {offsets!r}, expected one of {', '.join(UNITS)}")
    entities = list(entities)
    for entity in entities:
        _check_types(entity, place)
    found = _in_characters(text, entities, offsets or "characters")
    if offsets is None and not _is_plausible(text, entities, found):
        are_quoted = any(entity.quote is not None for entity in entities)
        units = [] if text.isascii() and not are_quoted else ["inclusive", "bytes", "utf16"]
        fitting = [
            unit
            for unit in units
            if _is_plausible(text, entities, _in_characters(text, entities, unit))
        ]
        # Without quotes, a word may just go on behind an entity.
        if fitting and (are_quoted or fitting != ["inclusive"]):
            said = " or ".join(UNITS[unit] for unit in fitting)
            options = " or ".join(f"`--offsets {unit}`" for unit in fitting)
            raise ValueError(
                f"{place}: offsets seem to count {said}, not characters; set `offsets` to "
                f"{fitting[0]!r} ({options}), or to 'characters' to take them as they are"
            )
    checked = [_checked(text, *each, place) for each in zip(entities, found)]
    return sorted(checked, key=lambda each: (each.start, each.end))


def _check_types(entity: RawEntity, place: str) -> None:
    label, start, end, quote = entity
    if not isinstance(label, str) or not label:
        raise ValueError(f"{place}: expected the label of an entity, a string, got {label!r}")
    if not isinstance(quote, (str, type(None))):
        raise ValueError(f"{place}: expected the text of an entity, a string, got {quote!r}")
    for name, value in (("start", start), ("end", end)):
        if type(value) is not int:
            raise ValueError(
                f"{place}: expected an integer as {name} of entity {label}, got {value!r}"
            )


def _checked(text: str, entity: RawEntity, found: Optional[Annotation], place: str) -> Annotation:
    name = f"{place}: entity {entity.label} at {entity.start} to {entity.end}"
    if entity.start >= entity.end and found is None:
        is_one = " (if ends are inclusive, with `--offsets inclusive`)" * (
            entity.start == entity.end
        )
        raise ValueError(f"{name} is empty; correct its offsets{is_one} or remove it")
    if found is None:
        raise ValueError(
            f"{name} is not within its text of {len(text)} characters; correct its offsets, or say "
            f"what they count with `offsets`, one of {', '.join(UNITS)}"
        )
    quote = text[found.start : found.end]
    if entity.quote is not None and not _is_quote(entity.quote, quote):
        raise ValueError(
            f"{name} is {quote!r} in the text, but {entity.quote!r} in the record; correct one of them"
        )
    return found


def _is_quote(quote: str, characters: str) -> bool:
    """Whether two strings are equal but for white space; tools trim it and replace line breaks."""
    return quote.split() == characters.split()


def _in_characters(
    text: str, entities: Sequence[RawEntity], unit: str
) -> List[Optional[Annotation]]:
    """Converts offsets; None for an entity that is empty, out of range, or splits a character."""
    width = {
        "characters": lambda _: 1,
        "inclusive": lambda _: 1,
        "bytes": lambda character: len(character.encode("utf-8", "surrogatepass")),
        "utf16": lambda character: 1 + (character > "\uffff"),
    }[unit]
    behind = int(unit == "inclusive")
    offsets = accumulate(map(width, text), initial=0)
    positions = {offset: position for position, offset in enumerate(offsets)}
    return [
        Annotation(label, positions[start], positions[end + behind])
        if start < end + behind and start in positions and end + behind in positions
        else None
        for label, start, end, _ in entities
    ]


def _is_plausible(
    text: str, entities: Sequence[RawEntity], found: Sequence[Optional[Annotation]]
) -> bool:
    """Whether entities are within the text, match their quotes, and begin and end at word borders."""
    for entity, annotation in zip(entities, found):
        if annotation is None:
            return False
        _, start, end = annotation
        if entity.quote is None and (cuts_word(text, start) or cuts_word(text, end)):
            return False
        if entity.quote is not None and not _is_quote(entity.quote, text[start:end]):
            return False
    return True
