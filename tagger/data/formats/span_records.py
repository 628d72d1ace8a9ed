"""JSON lines of texts with spans: doccano, Prodigy, and the records in spaCy's guides."""

import itertools
import logging
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from tagger.common.inputs import PathOrAddress
from tagger.data.formats.annotated_text import (
    SEVERAL,
    SOURCE,
    AnnotatedText,
    locate_tokens,
    scores_of,
)
from tagger.data.formats.json_files import read_records, write_lines
from tagger.data.formats.offsets import RawEntity, checked_entities
from tagger.data.formats.record_keys import (
    ENTITY_KEYS,
    annotator_of,
    entity_key,
    listed_entities,
    raw_entities,
    text_key,
)
from tagger.data.formats.record_variants import usual_records
from tagger.data.formats.token_records import ends_are_inclusive, is_indexed, of_indexed
from tagger.data.reading import DETECTED, Reading

logger = logging.getLogger(__name__)

#: How many values of entities show what is not read.
_MOST_OTHERS = 10_000


def read_span_records(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads records from doccano, Prodigy and spaCy, which differ in their keys.

    Records and spans that were rejected or ignored in Prodigy are skipped and counted. If `labelled`,
    each record needs a list of entities. If `each_source`, the property `SOURCE` says who annotated a
    record; a record with entities by several annotators becomes a text for each of them.
    """
    refused = Counter[str]()
    others = Counter[Tuple[str, str]]()
    annotators = _Annotators(reading.each_source)
    records = _usual_records(path, reading)
    for place, record in records:
        if reading.labelled and not _is_accepted(record):
            refused["records"] += 1
            continue
        text, entities, properties = _parts(record, place, reading.labelled)
        accepted = [entity for entity in entities if _is_accepted(entity)]
        refused["spans"] += len(entities) - len(accepted)
        if others.total() < _MOST_OTHERS:
            others.update(_other_labels(accepted, place))
        tokens = None
        given = properties.pop("tokens", None)
        if given is not None and (given != [] or not text.strip()):  # an empty list means none
            tokens = _token_spans(text, given, place, reading.offsets)
        for source, own in annotators.divide(text, accepted, annotator_of(record), place).items():
            found = checked_entities(text, raw_entities(own, place), place, reading.offsets)
            told = {**properties, SOURCE: source} if reading.each_source else properties
            yield AnnotatedText(text, found, tokens, None, place, told)
    for key in dict.fromkeys(key for key, _ in others):
        own = [number for (other, _), number in others.items() if other == key]
        if 1 < len(own) <= sum(own) / 2:
            logger.warning(
                "%s: entities have %d different labels under `%s`, which are not read; rename it to "
                "`label` if you want them",
                *(path, len(own), key),
            )
    for what, number in refused.items():
        if number:
            logger.warning("%s: left out %d %s that were rejected or ignored", path, number, what)


def _other_labels(entities: List[Any], place: str) -> Iterator[Tuple[str, str]]:
    """Yields the keys and values of entities that may be labels, besides those that are read."""
    for entity in entities:
        if isinstance(entity, dict):
            read = [value for each in raw_entities([entity], place) for value in each]
            for key, value in entity.items():
                if isinstance(value, str) and value not in read and key not in ("answer", "text"):
                    yield key, value


class _Annotators:
    """Divides entities between annotators, or warns once that there are several."""

    def __init__(self, are_divided: bool) -> None:
        self._are_divided = are_divided
        self._is_told = False
        self._first: Dict[int, Optional[str]] = {}

    def divide(
        self, text: str, entities: List[Any], of_record: Optional[str], place: str
    ) -> Dict[Optional[str], List[Any]]:
        """Returns the entities of each annotator; `of_record` is who annotated the record."""
        found: Dict[Optional[str], List[Any]] = {}
        for entity in entities:
            found.setdefault(annotator_of(entity) or of_record, []).append(entity)
        if self._are_divided:
            return found or {of_record: []}
        is_again = of_record and self._first.setdefault(hash(text), of_record) != of_record
        if not self._is_told and (is_again or len(found) > 1):
            self._is_told = True
            logger.warning(
                "%s: entities by several annotators, all of which are read, so some repeat; %s",
                *(place, SEVERAL),
            )
        return {None: entities}


def _usual_records(path: PathOrAddress, reading: Reading) -> Iterator[Tuple[str, Any]]:
    """Yields records with a `text` and `spans` as far as possible, with their places."""
    inclusive: Optional[bool] = True if reading.offsets == "inclusive" else None
    for place, record in read_records(path, text_encoding=reading.text_encoding):
        if is_indexed(record):
            if inclusive is None:
                inclusive = ends_are_inclusive(
                    read_records(path, text_encoding=reading.text_encoding)
                )
            yield place, of_indexed(record, place, inclusive)
            continue
        for usual in usual_records(record, place, reading.each_source):
            yield place, usual


def _is_accepted(annotated: Any) -> bool:
    """Whether an annotator accepted a record or span in Prodigy."""
    return not isinstance(annotated, dict) or annotated.get("answer") not in ("reject", "ignore")


def _parts(record: Any, place: str, labelled: bool) -> Tuple[str, List[Any], Dict[str, Any]]:
    """Splits a record into its text, its entities, and the rest."""
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        record = {"text": record[0], **record[1]}  # the tuples of spaCy 2
    if not isinstance(record, dict) or (name := text_key(record)) is None:
        raise ValueError(f"{place}: expected an object with a `text`, got {str(record)[:80]!r}")
    properties = dict(record)
    text = properties.pop(name)
    key = entity_key(record)
    if key is None and labelled and "answer" not in record:
        wrong = next((each for each in ENTITY_KEYS if isinstance(record.get(each), list)), None)
        if wrong is not None:
            raw_entities(record[wrong], place)  # its error says what is expected
        raise ValueError(
            f"{place}: expected a list under one of {', '.join(ENTITY_KEYS[:5])}, got the keys "
            f"{', '.join(record)}; a text without entities has an empty list"
        )
    return text, listed_entities(properties.pop(key)) or [] if key else [], properties


def _token_spans(
    text: str, tokens: Any, place: str, offsets: Optional[str]
) -> List[Tuple[int, int]]:
    if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
        return locate_tokens(text, tokens, place)
    if not isinstance(tokens, list) or not all(isinstance(token, dict) for token in tokens):
        raise ValueError(
            f"{place}: expected `tokens` to be a list of objects with `start` and `end`"
        )
    raw = [
        RawEntity("token", token.get("start"), token.get("end"), token.get("text"))
        for token in tokens
        if token.get("text") is None or not str(token["text"]).isspace()
    ]
    spans = [(start, end) for _, start, end in checked_entities(text, raw, place, offsets)]
    for (_, end), (start, _) in itertools.pairwise(spans):
        if start < end:
            raise ValueError(
                f"{place}: `tokens` overlap at character {start}; correct their offsets"
            )
    return spans


def write_lists(texts: Iterable[AnnotatedText], path: Path, key: str) -> None:
    """Writes `{"text": ..., key: [[0, 5, "PER"]]}` on each line; doccano's key is `label`."""
    write_lines(path, ({**_rest(text), "text": text.text, key: lists_of(text)} for text in texts))


def write_prodigy(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes accepted answers, `{"text": ..., "spans": [...], "tokens": [...]}`, one per line."""
    write_lines(path, map(prodigy_record, texts))


def prodigy_record(text: AnnotatedText) -> Dict[str, Any]:
    """Returns a text as an accepted Prodigy answer."""
    spans = [
        {"start": start, "end": end, "label": label, **score}
        for (label, start, end), score in zip(text.entities, scores_of(text))
    ]
    record = {"answer": "accept", **_rest(text), "text": text.text, "spans": spans}
    if text.tokens is not None:
        record["tokens"] = [
            {
                "text": text.text[start:end],
                "start": start,
                "end": end,
                "id": number,
                "ws": text.text[end : end + 1] == " ",
            }
            for number, (start, end) in enumerate(text.tokens)
        ]
    return record


def lists_of(text: AnnotatedText) -> List[List[Any]]:
    """Returns entities as `[0, 5, "PER"]`."""
    return [[start, end, label] for label, start, end in text.entities]


def _rest(text: AnnotatedText) -> Dict[str, Any]:
    """Returns the properties without keys that have a meaning in these formats."""
    taken = {"text", "tokens", "ner_tags", *ENTITY_KEYS}
    return {key: value for key, value in text.properties.items() if key not in taken}
