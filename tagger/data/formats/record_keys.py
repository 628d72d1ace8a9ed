"""The names under which tools store texts, entities and their parts in records."""

import ast
import json
from typing import Any, Dict, Iterable, List, Optional

from tagger.data.formats.offsets import RawEntity

#: Keys of the text, in the order in which they are tried.
TEXT_KEYS = (
    *("text", "content", "sentence", "source_text", "generated_text", "unmasked_text", "full_text"),
    *("raw_text", "document_text", "raw", "document", "body", "data"),
)
#: Keys of the entities, in the order in which they are tried.
ENTITY_KEYS = (
    *("spans", "entities", "labels", "label", "annotations", "privacy_mask", "pii_spans"),
    *("named_entities", "mentions", "span_labels", "annotation", "ner", "tags"),
)
#: Keys of the parts of an entity, in lowercase and without `_`.
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
        *("entitylabel", "nertag", "kind", "entity", "name"),
    ),
    "quote": ("text", "surface", "surfaceform", "mention", "quote", "value"),
}


def text_key(record: Dict[str, Any]) -> Optional[str]:
    """Returns the key of a record's text; None without one."""
    return next((key for key in TEXT_KEYS if isinstance(record.get(key), str)), None)


def entity_key(record: Dict[str, Any]) -> Optional[str]:
    """Returns the key of a record's list of entities, which may be written as a string."""
    return next((key for key in ENTITY_KEYS if listed_entities(record.get(key)) is not None), None)


def listed_entities(value: Any) -> Optional[List[Any]]:
    """Returns a list of lists or objects, which a string may spell in JSON or Python; else None.

    Example:
        >>> listed_entities("[{'start': 0}]"), listed_entities(["PER"]), listed_entities("PER")
        ([{'start': 0}], None, None)
    """
    if isinstance(value, str) and value.strip().startswith("["):
        value = _parsed(value)
    if not isinstance(value, list):
        return None
    return value if all(isinstance(each, (list, dict)) for each in value) else None


def _parsed(text: str) -> Any:
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def raw_entities(entities: Iterable[Any], place: str) -> List[RawEntity]:
    """Reads entities such as `[0, 5, "PER"]`, or objects, which may have several `labels`."""
    return [raw for entity in entities for raw in _raw_entities(entity, place)]


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
    values = {key.lower().replace("_", ""): value for key, value in entity.items()}
    found = {
        part: next(((key, values[key]) for key in keys if values.get(key) is not None), None)
        for part, keys in _PARTS.items()
    }
    start, end, label, quote = (found[part] for part in ("start", "end", "label", "quote"))
    if end is None and start is not None and type(values.get("length")) is int:
        end = ("length", start[1] + values["length"] if type(start[1]) is int else None)
    missing = [part for part in ("start", "end", "label") if found[part] is None]
    missing = [part for part in missing if part != "end" or end is None]
    if start is None or end is None or label is None:
        raise ValueError(
            f"{place}: expected an entity with `start`, `end` and `label`, got the keys "
            f"{', '.join(entity) or 'of an empty object'}, among which none is known as "
            f"{' or '.join(f'`{part}`' for part in missing)}; rename them"
        )
    labels = label[1] if isinstance(label[1], list) and label[1] else [label[1]]
    if type(labels[0]) is int:
        raise ValueError(
            f"{place}: label {labels[0]} is a number, and its name is not in the file; export "
            "the texts with label names"
        )
    # A normal form of the words, as in Rasa's JSON, is no quote.
    is_quote = quote is not None and (quote[0] != "value" or label[0] != "entity")
    words = quote[1] if quote is not None and is_quote and isinstance(quote[1], str) else None
    return [RawEntity(each, start[1], end[1], words) for each in labels]
