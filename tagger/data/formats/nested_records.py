"""Records with the text and its entities under other keys, such as Argilla's and BioC's."""

import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from tagger.data.formats.annotated_text import DOCUMENT_KEYS, SEVERAL
from tagger.data.formats.quoted_entities import is_quoted, located
from tagger.data.formats.record_keys import (
    ENTITY_KEYS,
    TEXT_KEYS,
    annotator_of,
    entity_key,
    is_entity,
    listed_entities,
    raw_entities,
    text_key,
)

#: Keys of texts that name something else elsewhere, so they count only beside or above entities.
_TEXT_KEYS = (*TEXT_KEYS, "source", "utterance", "passage", "query", "input")
#: Keys that name documents, and those that do so only if a record holds several texts.
_NAMES = (*DOCUMENT_KEYS, "doc_key", "id", "title")
_PREDICTED = re.compile(r"predict|suggest", re.IGNORECASE)
_NUMBER = re.compile(r"\[\d+\]")
#: How deep records are searched.
_DEEPEST = 12
#: Keys that mean something in the records that are made here.
_MEANT = ("text", "spans", "tokens", "paths", "pieces")
_PARTS = ("train", "dev", "test", "validation", "valid", "val", "eval", "training", "development")
_LABEL_KEYS = ("entity", "label", "type", "slot_name", "tag")


class _Found(NamedTuple):
    """What is in a part of a record: whole records, and texts and entities that are not together."""

    records: List[Dict[str, Any]]
    texts: List[Tuple[str, str]]
    lists: List[Tuple[str, List[Any]]]
    is_empty: bool


def is_nested(record: Any) -> bool:
    """Whether a record has a text and entities, which are not both lists of the record itself."""
    if not isinstance(record, dict) or _is_flat(record):
        return False
    try:
        found = _records_in(record)
    except ValueError:
        return True  # and the reader says what is wrong
    return any(each["spans"] for each in found)


def nested_records(
    record: Dict[str, Any], place: str, each_source: bool = False
) -> List[Dict[str, Any]]:
    """Returns records with `text` and `spans` for the texts that are nested in a record.

    Returns none if it has no text, or if none has a list of entities, be it empty. Entities are lists,
    objects, or lists by label; those without offsets are looked up in the text. If `each_source`,
    there is a record for each agent of Argilla's suggestions, too.

    Raises:
        ValueError: If a text has several lists of entities, or an entity cannot be found in it.
    """
    if not isinstance(record, dict) or _is_flat(record):
        return []
    try:
        return [each for own in _by_responder(record, each_source) for each in _records_in(own)]
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _by_responder(record: Dict[str, Any], each_source: bool) -> Iterator[Dict[str, Any]]:
    """Yields a record for each annotator of one from Argilla, with `annotator`; or the record."""
    responses = record.get("responses")
    agents = _by_agent(record.get("suggestions")) if each_source else {}
    questions = responses if isinstance(responses, dict) else {"": responses}
    lists = {key: own for key, own in questions.items() if isinstance(own, list)}
    every = [each for own in lists.values() for each in own if isinstance(each, dict)]
    given = [each for each in every if each.get("status") != "discarded"]
    users = list(dict.fromkeys(filter(None, map(annotator_of, given))))
    for user in users:
        own = {
            key: [e for e in given if e in of and annotator_of(e) == user]
            for key, of in lists.items()
        }
        # Suggestions are not those of a user who has found nothing.
        yield {
            **{key: value for key, value in record.items() if key != "suggestions"},
            "responses": own if isinstance(responses, dict) else own[""],
            "annotator": user,
        }
    for agent, suggestions in agents.items():
        rest = {key: value for key, value in record.items() if key != "responses"}
        yield {**rest, "suggestions": suggestions, "annotator": agent}
    if not users and not agents:
        yield record


def _by_agent(suggestions: Any) -> Dict[str, List[Dict[str, Any]]]:
    """Groups Argilla's suggestions by their agent."""
    every = suggestions.values() if isinstance(suggestions, dict) else suggestions
    found: Dict[str, List[Dict[str, Any]]] = {}
    for each in every if isinstance(suggestions, (dict, list)) else []:
        if isinstance(each, dict) and "value" in each:
            found.setdefault(str(each.get("agent") or "suggestions"), []).append(each)
    return found


def _is_flat(record: Dict[str, Any]) -> bool:
    """Whether a record has a text and a list of entities, as most formats have them."""
    key = entity_key(record)
    entities = None if key is None else listed_entities(record[key])
    if text_key(record) is None or entities is None:
        return False
    return not entities or is_entity(entities[0])


def _records_in(record: Dict[str, Any]) -> List[Dict[str, Any]]:
    found = _search(record, "", 0)
    records = [each for each in found.records if each]
    if not any("pieces" not in each or each["spans"] for each in records):
        return []
    lists = [path for path, _ in found.lists if not _PREDICTED.search(path)]
    if lists:
        raise ValueError(
            f"the entities under `{lists[0]}` belong to none of {len(records)} texts; write each text "
            "and its entities as a record"
        )
    records = [{k: v for k, v in each.items() if k != "pieces"} for each in records]
    heads = {
        _NUMBER.split(part.partition(".")[0])[0] for r in records for part in r.get("paths", [])
    }
    if len(heads) > 1 and heads <= {*_PARTS}:
        raise ValueError(
            f"the file holds the parts {' and '.join(sorted(heads))}; write each to a separate file"
        )
    if len(records) > 1:
        name = next(
            (record[key] for key in _NAMES if isinstance(record.get(key), (str, int))), None
        )
        shared = {k: v for k, v in record.items() if isinstance(v, (str, int, float))}
        shared = {**shared, **({} if name is None else {"doc_id": name})}
        return [{**shared, **each} for each in records]
    records[0].pop("paths", None)
    return [{**{k: v for k, v in record.items() if k not in heads}, **records[0]}]


def _search(node: Any, path: str, depth: int) -> _Found:
    if isinstance(node, list):
        pieces = _of_pieces(node)
        if pieces is not None:
            return _Found([pieces], [], [], False)
        items = [(f"{path}[{number}]", each) for number, each in enumerate(node)]
        return _joined(items, depth)
    own = [(_under(path, key), node[key]) for key in _TEXT_KEYS if isinstance(node.get(key), str)]
    lists, others, is_empty = [], [], False
    for key, value in node.items():
        entities = _entities(key, value)
        if entities:
            lists.append((_under(path, key), entities))
        elif entities is not None:
            is_empty = True
        else:
            others.append((_under(path, key), value))
    inner = _joined(others, depth)
    if inner.records and not (own and lists):
        return inner._replace(lists=inner.lists + lists)
    texts, lists = own[:1] or inner.texts, lists + inner.lists
    if own:
        lists = [(path, _shifted(own[0][1], each, node.get("offset"))) for path, each in lists]
    if len(texts) == 1 and (lists or is_empty or inner.is_empty):
        used = {*(each for each, _ in lists), *(each for each, _ in texts)}
        rest = {key: value for key, value in node.items() if _is_unread(key, value, path, used)}
        return _Found([{**(rest if own else {}), **_record(texts[0], lists)}], [], [], False)
    return _Found([], texts, lists, is_empty or inner.is_empty)


def _is_unread(key: str, value: Any, path: str, used: Set[str]) -> bool:
    """Whether what is beside a text is neither this text nor its entities, and has no other meaning."""
    own = _under(path, key)
    is_used = any(each == own or each.startswith((f"{own}.", f"{own}[")) for each in used)
    return not is_used and key not in _MEANT and value not in ([], {}, "", None)


def _joined(items: List[Tuple[str, Any]], depth: int) -> _Found:
    inner = [
        _search(value, path, depth + 1)
        for path, value in items
        if isinstance(value, (dict, list)) and depth < _DEEPEST
    ]
    return _Found(
        [each for one in inner for each in one.records],
        [each for one in inner for each in one.texts],
        [each for one in inner for each in one.lists],
        any(each.is_empty for each in inner),
    )


def _under(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _entities(key: str, value: Any) -> Optional[List[Any]]:
    """Returns entities in a list, or in lists by label; None if a value is something else."""
    is_known = key in ENTITY_KEYS
    if isinstance(value, dict):
        if key == "annotations" and _are_sources(value):
            raise ValueError(f"{' and '.join(value)} have annotated the text; {SEVERAL}")
        if value and not all(isinstance(each, list) and each for each in value.values()):
            return None
        if not value:
            return [] if is_known else None
        flat = [
            {"label": label, "text": each} if isinstance(each, str) else _labelled(label, each)
            for label, own in value.items()
            for each in own
        ]
        fits = is_entity if not is_known else lambda each: is_entity(each) or is_quoted(each)
        return flat if all(map(fits, flat)) else None
    if not isinstance(value, list) or (not value and not is_known and key != "value"):
        return None
    if all(map(is_entity, value)) or (is_known and all(map(is_quoted, value))):
        return value
    return None


def _are_sources(lists: Dict[str, Any]) -> bool:
    """Whether entities with their labels are grouped by who found them."""
    entities = [each for own in lists.values() if isinstance(own, list) for each in own]
    return bool(entities) and all(
        isinstance(each, list) and [*map(type, each)] == [int, int, str] for each in entities
    )


def _labelled(label: str, entity: Any) -> Any:
    """Adds a label to an entity without one."""
    if isinstance(entity, list) and [*map(type, entity)] == [int, int]:
        return [*entity, label]
    if isinstance(entity, dict) and not is_entity(entity):
        return {**entity, "label": label}
    return entity


def _record(text: Tuple[str, str], lists: List[Tuple[str, List[Any]]]) -> Dict[str, Any]:
    """Makes a record of a text and its entities, of which predicted ones count only if alone."""
    path, words = text
    given = [each for each in lists if not _PREDICTED.search(each[0])] or lists
    if any(own != given[0][1] for _, own in given):
        paths = sorted({_NUMBER.sub("[]", each) for each, _ in given})
        raise ValueError(
            f"{len(given)} lists of entities for the text `{path}`, under "
            f"{' and '.join(f'`{each}`' for each in paths)}; keep one of them, or join them"
        )
    spans = given[0][1] if given else []
    spans = located(words, spans)
    return {"text": words, "spans": spans, "paths": [path, *(each for each, _ in lists)]}


def _shifted(text: str, entities: List[Any], offset: Any) -> List[Any]:
    """Makes offsets in a document those in a passage at an `offset`, as in BioC, if the words agree."""
    if type(offset) is not int or not offset or not all(map(is_entity, entities)):
        return entities
    raw = raw_entities(entities, "")
    places = [(each.start - offset, each.end - offset) for each in raw]
    if not all(i >= 0 and text[i:j] == each.quote for (i, j), each in zip(places, raw)):
        return entities
    return [{"start": i, "end": j, "label": each.label} for (i, j), each in zip(places, raw)]


def flatten_remedy(record: Dict[str, Any]) -> Optional[str]:
    """Says where a record of an unknown layout may have its entities; None if they are not nested."""
    paths = [*_object_lists(record, "")]
    found = next((path for path, is_likely in paths if is_likely), None) or next(
        (path for path, _ in paths), None
    )
    if found is None:
        return None
    return (
        'flatten each record to `{"text": "Ada left", "entities": [[0, 3, "PER"]]}`; what looks like '
        f"entities is under `{found}`"
    )


def _object_lists(node: Any, path: str) -> Iterator[Tuple[str, bool]]:
    """Yields the paths of lists of objects, and whether these have numbers or lists of them."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _object_lists(value, _under(path, key))
    elif isinstance(node, list):
        objects = [each for each in node if isinstance(each, dict)]
        values = [value for each in objects[:1] for value in each.values()]
        if objects:
            yield path, any(type(v) is int or isinstance(v, list) for v in values)
        for each in node[:1]:
            yield from _object_lists(each, f"{path}[]")


def _of_pieces(node: List[Any]) -> Optional[Dict[str, Any]]:
    """Makes a record of a text in pieces, of which some have a label, as in Snips' JSON."""
    if not node or not all(
        isinstance(each, dict)
        and isinstance(each.get("text"), str)
        and not any(isinstance(value, (dict, list, int, float)) for value in each.values())
        for each in node
    ):
        return None
    labels = [next((p[key] for key in _LABEL_KEYS if p.get(key)), None) for p in node]
    if all(labels) and len(node) > 1:
        return None
    return {"text": "".join(p["text"] for p in node), "spans": [*_spans(node, labels)], "pieces": 1}


def _spans(node: List[Any], labels: List[Optional[str]]) -> Iterator[Dict[str, Any]]:
    end = 0
    for piece, label in zip(node, labels):
        start, end = end, end + len(piece["text"])
        if label is not None:
            yield {"start": start, "end": end, "label": label}
