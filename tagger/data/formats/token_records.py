"""Records of tokens: an object for each token, or entities that are places of tokens."""

import re
from itertools import accumulate, chain
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from tagger.data.formats.record_keys import ENTITY_KEYS, is_entity, raw_entities
from tagger.data.joined_text import join_tokens

#: Keys of a token's word and of its tag, in lowercase, in the order in which they are tried.
_WORDS = ("word", "text", "token", "orth", "form", "originaltext")
_TAGS = ("ner", "ner_tag", "nertag", "ner_1", "tag", "label", "entity", "entity_type", "ent_type")
#: Keys of lists of tokens beside which entities are places of tokens.
_LISTS = ("tokens", "words", "token", "sentence", "text")
_SENTENCES = ("sentences", "sents", "tokens")
_SPAN_TAG = re.compile(r"[BIESLUM][-_]\w.*")
#: How deep records are searched, and the fewest entities that show where entities end.
_DEEPEST, _FEWEST = 6, 5

Tokens = List[Dict[str, Any]]


def has_tokens(record: Any) -> bool:
    """Whether a record holds an object for each token, with tags, such as those of CoreNLP."""
    return any(
        "O" in tags or any(map(_SPAN_TAG.fullmatch, tags))
        for own in _token_lists(record, 0)
        for tags in [_of_objects(own)["ner_tags"]]
    )


def tagged_records(record: Any) -> List[Any]:
    """Returns a record with `tokens` and lists of tags for each list of token objects in a record.

    A record without any is returned as it is.
    """
    return [_of_objects(own) for own in _token_lists(record, 0)] or [record]


def _token_lists(node: Any, depth: int) -> Iterator[Tokens]:
    """Yields the lists of objects that are tokens, with a word and a tag each."""
    if depth > _DEEPEST:
        return
    if isinstance(node, list) and node and all(isinstance(each, dict) for each in node):
        word, tag = _key(node, _WORDS), _key(node, _TAGS)
        is_word = word and tag and not any(" " in each[word].strip() for each in node)
        if word and tag and is_word and not are_entities_alone(node):
            yield node
            return
    inner = node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()
    for each in inner:
        if isinstance(each, (list, dict)):
            yield from _token_lists(each, depth + 1)


def are_entities_alone(objects: List[Any]) -> bool:
    """Whether objects are predicted entities, or words of some, without the other words of the text."""
    predicted = [each for each in objects if isinstance(each, dict) and "score" in each]
    kinds = [each.get("entity", each.get("entity_group")) for each in predicted]
    return 0 < len(kinds) == len(objects) and "O" not in kinds and None not in kinds


def _key(tokens: Tokens, names: Iterable[str]) -> Optional[str]:
    """Returns the key with one of the names that has a string in each token."""
    keys = {key.lower(): key for key in tokens[0]}
    found = (keys[name] for name in names if name in keys)
    return next((key for key in found if all(isinstance(t.get(key), str) for t in tokens)), None)


def _of_objects(tokens: Tokens) -> Dict[str, Any]:
    word, tag = _key(tokens, _WORDS) or "", _key(tokens, _TAGS) or ""
    others = [key for key in tokens[0] if all(isinstance(t.get(key), str) for t in tokens)]
    lists = {key: [token[key] for token in tokens] for key in others if key not in (word, tag)}
    # The best-known key of tags is tried first.
    return {"tokens": [t[word] for t in tokens], "ner_tags": [t[tag] for t in tokens], **lists}


class _Indexed(NamedTuple):
    """The keys of tokens and of their entities; the tokens may be in sentences, as in DyGIE."""

    tokens: str
    entities: str
    are_sentences: bool


def is_indexed(record: Any) -> bool:
    """Whether the entities of a record are places of its tokens, without a text."""
    return _indexed(record) is not None


def _indexed(record: Any) -> Optional[_Indexed]:
    if not isinstance(record, dict) or isinstance(record.get("text"), str):
        return None
    for key in ENTITY_KEYS:
        entities = record.get(key)
        if not isinstance(entities, list):
            continue
        for tokens in _SENTENCES:
            own = record.get(tokens)
            if isinstance(own, list) and own and all(map(_are_strings, own)):
                fits = len(own) == len(entities) and all(isinstance(e, list) for e in entities)
                if fits and all(is_entity(each) for each in chain(*entities)):
                    return _Indexed(tokens, key, True)
        for tokens in _LISTS:
            is_list = bool(record.get(tokens)) and _are_strings(record[tokens])
            if is_list and tokens != key and all(map(is_entity, entities)):
                return _Indexed(tokens, key, False)
    return None


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def ends_are_inclusive(records: Iterable[Tuple[str, Any]]) -> bool:
    """Tells from records with places of tokens whether an entity's end is its last token.

    Raises:
        ValueError: If they do not show it.
    """
    num, single, beyond, place = 0, 0, 0, ""
    for place, record in records:
        found = _indexed(record)
        if found is None or found.are_sentences:
            continue
        for each in raw_entities(record[found.entities], place):
            num += 1
            single += each.start == each.end
            beyond += each.end == len(record[found.tokens])
    if num and (bool(single) == bool(beyond)) and (single or num < _FEWEST):
        raise ValueError(
            f"{place}: entities are places of tokens, and {single} of {num} begin and end at the same "
            f"token, {beyond} end behind the last one, so it is unclear whether ends are inclusive; "
            'write the last token of each as `"ner": [[0, 1, "PER"]]` beside `"tokenized_text"`'
        )
    return single > 0


def of_indexed(record: Dict[str, Any], place: str, inclusive: bool) -> Dict[str, Any]:
    """Converts a record with entities at places of tokens to one of a text with `spans`.

    The places of DyGIE count the tokens of the whole document, and include the last token.
    """
    found = _indexed(record)
    assert found is not None
    tokens, entities = record[found.tokens], record[found.entities]
    lengths = [len(tokens)]
    if found.are_sentences:
        lengths = [*map(len, tokens)]
        starts = accumulate(lengths, initial=0)
        for start, length, own in zip(starts, lengths, entities):
            for each in raw_entities(own, place):
                if not start <= each.start <= each.end < start + length:
                    raise ValueError(
                        f"{place}: expected entities in `{found.entities}` at tokens {start} to "
                        f"{start + length - 1}, counted from the start of the document, with the last "
                        f"one, got {each.start} to {each.end} in that sentence; correct them"
                    )
        tokens, entities, inclusive = [*chain(*tokens)], [*chain(*entities)], True
    text, places = join_tokens(tokens)
    spans = []
    for label, start, end, _ in raw_entities(entities, place):
        last = end if inclusive else end - 1
        if not 0 <= start <= last < len(tokens):
            raise ValueError(
                f"{place}: entity {label} at {start} to {end} is not within its {len(tokens)} tokens; "
                "correct it"
            )
        spans.append({"start": places[start][0], "end": places[last][1], "label": label})
    parts = [{"text": w, "start": i, "end": j} for w, (i, j) in zip(tokens, places)]
    rest = {key: each for key, each in record.items() if key not in (found.tokens, found.entities)}
    return {**rest, "text": text, "tokens": parts, "spans": spans}
