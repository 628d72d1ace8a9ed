"""Entities given by their words, without offsets, which are looked up in the text."""

from collections import defaultdict
from typing import Any, Dict, List, Tuple

from tagger_texts.segments import cuts_word

_WORDS = ("text", "word", "mention", "surface", "quote", "value", "name", "entity", "span", "token")
_LABELS = ("label", "type", "entity_type", "entity_group", "category", "tag", "class", "entity")


def is_quoted(entity: Any) -> bool:
    """Whether an entity has its words and its label, but no offsets.

    Example:
        >>> is_quoted({"text": "Ada", "type": "PER"}), is_quoted({"text": "Ada", "start": 0})
        (True, False)
    """
    if not isinstance(entity, dict) or "" in _words_and_label(entity):
        return False
    values = [each for v in entity.values() for each in (v if isinstance(v, list) else [v])]
    return not any(type(each) is int or isinstance(each, (dict, list)) for each in values)


def _words_and_label(entity: Dict[str, Any]) -> Tuple[str, str]:
    label = next((key for key in _LABELS if isinstance(entity.get(key), str)), None)
    words = (entity[key] for key in _WORDS if key != label and isinstance(entity.get(key), str))
    return next(words, ""), "" if label is None else entity[label]


def located(text: str, entities: List[Any]) -> List[Any]:
    """Gives entities without offsets those of their words in the text; others are not changed.

    Raises:
        ValueError: If the text does not have the words exactly as often as they are listed.

    Example:
        >>> located("Ada left", [{"text": "Ada", "type": "PER"}])
        [{'start': 0, 'end': 3, 'label': 'PER'}]
    """
    if not entities or not all(map(is_quoted, entities)):
        return entities
    labels: Dict[str, List[str]] = defaultdict(list)
    for words, label in map(_words_and_label, entities):
        labels[words].append(label)
    found = []
    for words, own in labels.items():
        starts = _places(text, words)
        if len(starts) != len(own) or len({*own}) > 1:
            raise ValueError(
                f"the entity {own[0]} {words!r} has no offsets, is listed {len(own)} times, and is "
                f"{len(starts)} times in the text; give its `start` and `end`"
            )
        found += [{"start": at, "end": at + len(words), "label": own[0]} for at in starts]
    return found


def _places(text: str, words: str) -> List[int]:
    """Returns where words are in a text, but not inside other words."""
    starts, at = [], text.find(words)
    while at >= 0:
        if not cuts_word(text, at) and not cuts_word(text, at + len(words)):
            starts.append(at)
        at = text.find(words, at + 1)
    return starts
