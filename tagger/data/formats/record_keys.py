"""The names under which tools store texts, entities and their parts in records."""

import ast
import json
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence

from tagger.data.formats.offsets import RawEntity

#: Keys of the text, in the order in which they are tried.
TEXT_KEYS = (
    *("text", "content", "sentence", "source_text", "generated_text", "unmasked_text", "full_text"),
    *("raw_text", "document_text", "raw", "body", "data", "document", "context", "textContent"),
)
#: Keys of the entities, in the order in which they are tried.
ENTITY_KEYS = (
    *("spans", "entities", "labels", "label", "annotations", "privacy_mask", "pii_spans"),
    *("named_entities", "mentions", "span_labels", "annotation", "ner", "tags", "ents"),
    "textSegmentAnnotations",
)
#: Keys of records or entities that name who annotated them, in the order in which they are tried.
ANNOTATOR_KEYS = (
    *("_annotator_id", "annotator", "annotator_id", "annotation_approver", "completed_by", "user"),
    *("user_id", "username", "worker", "worker_id", "coder", "rater", "_session_id"),
)
#: Keys of the parts of an entity, in lowercase and without `_` and `-`.
_PARTS = {
    "start": (
        *("start", "startoffset", "startchar", "begin", "beginoffset", "startindex", "charstart"),
        *("from", "startposition", "startpos", "offset", "beginchar", "spanstart"),
    ),
    "end": (
        *("end", "endoffset", "endchar", "stop", "endindex", "charend", "to", "endposition"),
        *("endpos", "spanend"),
    ),
    "label": (
        *("label", "labels", "entitygroup", "entitytype", "type", "category", "tag", "class"),
        *("entitylabel", "displayname", "nertag", "kind", "entity", "name"),
    ),
    "quote": ("text", "surface", "surfaceform", "mention", "quote", "value", "content"),
}
#: Keys of a list with the start and the end of an entity.
_PLACES = (
    *("pos", "position", "offset", "offsets", "span", "indices", "range", "interval", "location"),
)
#: How deep the parts of an entity may be nested in it.
_DEEPEST = 4


def text_key(record: Dict[str, Any]) -> Optional[str]:
    """Returns the key of a record's text; None without one."""
    return next((key for key in TEXT_KEYS if isinstance(record.get(key), str)), None)


def entity_key(record: Dict[str, Any]) -> Optional[str]:
    """Returns the key of a record's list of entities, which may be written as a string."""
    return next((key for key in ENTITY_KEYS if listed_entities(record.get(key)) is not None), None)


def annotator_of(annotated: Any) -> Optional[str]:
    """Returns the name of who annotated a record or an entity, if it says so.

    Example:
        >>> annotator_of({"user": 3}), annotator_of({"annotator": "anna"}), annotator_of({})
        ('3', 'anna', None)
    """
    if not isinstance(annotated, dict):
        return None
    told = (annotated.get(key) for key in ANNOTATOR_KEYS)
    name = next((each for each in told if isinstance(each, (str, int)) and each != ""), None)
    return None if name is None else str(name)


def listed_entities(value: Any) -> Optional[List[Any]]:
    """Returns a list of lists or objects, which a string may spell in JSON or Python; else None.

    Example:
        >>> listed_entities("[{'start': 0}]"), listed_entities(["PER"]), listed_entities("PER")
        ([{'start': 0}], None, None)
        >>> listed_entities({"start": [0, 9], "end": [5, 12], "label": ["PER", "LOC"]})[1]
        {'start': 9, 'end': 12, 'label': 'LOC'}
    """
    if isinstance(value, str) and value.strip().startswith("["):
        value = parsed_value(value)
    if isinstance(value, dict) and {"start", "end"} <= value.keys():  # `datasets` has such lists
        are_lists = all(isinstance(each, list) for each in value.values())
        if are_lists and len({*map(len, value.values())}) == 1:
            return [dict(zip(value, each)) for each in zip(*value.values())]
    if not isinstance(value, list):
        return None
    return value if all(isinstance(each, (list, dict)) for each in value) else None


def parsed_value(text: str) -> Any:
    """Returns the value that a string spells in JSON or Python; None if it spells none.

    Example:
        >>> parsed_value("[(0, 5, 'PER')]")
        [[0, 5, 'PER']]
    """
    for parse in (json.loads, _parsed_python):
        try:
            return parse(text)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _parsed_python(text: str) -> Any:
    return json.loads(json.dumps(ast.literal_eval(text)))  # with lists in place of tuples


def raw_entities(entities: Iterable[Any], place: str) -> List[RawEntity]:
    """Reads entities such as `[0, 5, "PER"]`, or objects, which may have several `labels`."""
    return [raw for entity in entities for raw in _raw_entities(entity, place)]


def is_entity(value: Any) -> bool:
    """Whether a value has the start, the end and the label of an entity.

    Example:
        >>> is_entity({"name": "PER", "at": {"begin": 0, "end": 3}}), is_entity({"begin": 0})
        (True, False)
    """
    try:
        found = raw_entities([value], "")
    except ValueError:
        return False
    return all(
        type(each.start) is int and type(each.end) is int and isinstance(each.label, str)
        for each in found
    )


def _raw_entities(entity: Any, place: str) -> List[RawEntity]:
    if isinstance(entity, list) and len(entity) == 3:
        numbers = [each for each in entity if type(each) is int]
        labels = [each for each in entity if isinstance(each, str)]
        if len(numbers) == 2 and len(labels) == 1:  # in any order, as `["PER", 0, 5]`
            return [] if labels == ["O"] else [RawEntity(labels[0], numbers[0], numbers[1])]
        return [RawEntity(entity[2], entity[0], entity[1])]
    if isinstance(entity, dict):
        return _of_object(entity, place)
    raise ValueError(
        f'{place}: expected an entity as `[0, 5, "PER"]` or an object with `start`, `end` and `label`, '
        f"got {entity!r}"
    )


def _of_object(entity: Dict[str, Any], place: str) -> List[RawEntity]:
    levels = _levels(entity)
    found = {part: _value(levels, keys) for part, keys in _PARTS.items()}
    start, end, label, quote = (found[part] for part in ("start", "end", "label", "quote"))
    places = _value(levels, _PLACES)
    if end is None and places is not None and _are_two_numbers(places.value):
        start, end = (each._replace(value=n) for each, n in zip((places, places), places.value))
    length = _value(levels, ("length",))
    if end is None and start is not None and length is not None and type(length.value) is int:
        end = length._replace(
            value=start.value + length.value if type(start.value) is int else None
        )
    if start is None or end is None or label is None:
        parts = {"start": start, "end": end, "label": label}
        missing = [f"`{part}`" for part, value in parts.items() if value is None]
        raise ValueError(
            f"{place}: expected an entity with `start`, `end` and `label`, got the keys "
            f"{', '.join(entity) or 'of an empty object'}, among which none is known as "
            f"{' or '.join(missing)}; rename them"
        )
    labels = [
        _named(each)
        for each in (
            label.value if isinstance(label.value, list) and label.value else [label.value]
        )
    ]
    if type(labels[0]) is int:
        raise ValueError(
            f"{place}: label {labels[0]} is a number, and its name is not in the file; export "
            "the texts with label names"
        )
    # A normal form of the words, as in Rasa's JSON, is no quote; nor is what is not beside the offsets.
    is_quote = quote is not None and quote.level in (0, start.level)
    is_quote = is_quote and quote is not None and (quote.key != "value" or label.key != "entity")
    words = quote.value if quote is not None and is_quote and isinstance(quote.value, str) else None
    return [RawEntity(each, start.value, end.value, words) for each in labels]


class _Value(NamedTuple):
    """A value in an entity, with its normal key and how deep it is nested."""

    key: str
    value: Any
    level: int


def _levels(entity: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Returns the values of an entity by their normal keys, and of the objects nested in it."""
    levels: List[Dict[str, Any]] = []
    objects = [entity]
    while objects and len(levels) < _DEEPEST:
        level: Dict[str, Any] = {}
        for key, value in [item for each in objects for item in each.items()]:
            level.setdefault(key.lower().replace("_", "").replace("-", ""), value)
        levels.append(level)
        # A list of one object, as in BioC's `locations`, is as good as the object.
        inner = [v[0] if isinstance(v, list) and len(v) == 1 else v for v in level.values()]
        objects = [each for each in inner if isinstance(each, dict)]
    return levels


def _value(levels: Sequence[Dict[str, Any]], keys: Sequence[str]) -> Optional[_Value]:
    """Returns the value under the first of the keys at the first level that has one of them."""
    return next(
        (
            _Value(key, values[key], level)
            for level, values in enumerate(levels)
            for key in keys
            if values.get(key) is not None and not isinstance(values[key], dict)
        ),
        None,
    )


def _are_two_numbers(value: Any) -> bool:
    return isinstance(value, list) and [*map(type, value)] == [int, int]


def _named(label: Any) -> Any:
    """Returns the name of a label that is an object, as flair's `{"value": "PER"}`."""
    if not isinstance(label, dict):
        return label
    return next((label[key] for key in ("value", "name", "label") if key in label), label)
