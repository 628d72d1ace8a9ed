"""Records of GLiNER, spaCy 2, DataTurks and CLUENER, and those with nested texts or entities."""

from typing import Any, Dict, Iterator, List, Sequence, Tuple

from tagger.data.formats.nested_records import nested_records
from tagger.data.joined_text import join_tokens
from tagger.data.survey.schemes import find_scheme, spans_in


def is_variant(record: Any) -> bool:
    """Whether `usual_records` changes a record."""
    return _is_gliner(record) or _is_spacy_2(record) or _is_dataturks(record) or _is_cluener(record)


def usual_records(record: Any, place: str = "", each_source: bool = False) -> Iterator[Any]:
    """Yields records as Prodigy has them, with a `text` and `spans`; others are not changed."""
    if _is_gliner(record):
        yield _of_gliner(record)
    elif _is_spacy_2(record):
        yield from _of_spacy_2(record)
    elif _is_dataturks(record):
        yield _of_dataturks(record)
    elif _is_cluener(record):
        yield _of_cluener(record)
    else:
        yield from nested_records(record, place, each_source) or [record]


def _is_gliner(record: Any) -> bool:
    return isinstance(record, dict) and _are_strings(record.get("tokenized_text"))


def _of_gliner(record: Dict[str, Any]) -> Dict[str, Any]:
    """Converts `[first, last, label]`, places of tokens, the last included."""
    rest = {key: value for key, value in record.items() if key not in ("tokenized_text", "ner")}
    spans = [(each[2], (each[0], each[1])) for each in record.get("ner") or [] if len(each) == 3]
    return {**rest, **_of_tokens(record["tokenized_text"], spans)}


def _is_spacy_2(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("paragraphs"), list)


def _of_spacy_2(record: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    """Converts the tokens of each paragraph, with `ner` in BIOUL."""
    for paragraph in record["paragraphs"]:
        sentences = paragraph.get("sentences") or []
        tokens = [token for sentence in sentences for token in sentence.get("tokens") or []]
        tags = [str(token.get("ner") or "O") for token in tokens]
        words = [str(token.get("orth")) for token in tokens]
        name = {} if record.get("id") is None else {"doc_id": record["id"]}
        scheme = find_scheme([tags])
        yield {**name, **_of_tokens(words, spans_in([*map(scheme.canonical, tags)], scheme))}


def _of_tokens(
    words: Sequence[str], spans: Sequence[Tuple[str, Tuple[int, int]]]
) -> Dict[str, Any]:
    text, places = join_tokens(words)
    tokens = [{"text": word, "start": i, "end": j} for word, (i, j) in zip(words, places)]
    found = [
        {"label": label, "start": places[i][0], "end": places[j][1]}
        for label, (i, j) in spans
        if 0 <= i <= j < len(places)
    ]
    return {"text": text, "tokens": tokens, "spans": found}


def _is_dataturks(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("content"), str)
        and "annotation" in record
        and all(isinstance(each, dict) and "points" in each for each in record["annotation"] or [])
    )


def _of_dataturks(record: Dict[str, Any]) -> Dict[str, Any]:
    """Converts `points`, which include their ends."""
    spans = [
        {"start": point.get("start"), "end": _behind(point), "label": label}
        for each in record["annotation"] or []
        for point in each["points"]
        for label in _listed(each.get("label"))
    ]
    rest = {key: value for key, value in record.items() if key not in ("content", "annotation")}
    return {**rest, "text": record["content"], "spans": spans}


def _behind(point: Dict[str, Any]) -> Any:
    end = point.get("end")
    return end + 1 if type(end) is int else end


def _listed(value: Any) -> List[Any]:
    return value if isinstance(value, list) else [value]


def _is_cluener(record: Any) -> bool:
    """Whether entities are objects by label, such as `{"name": {"Ada": [[0, 2]]}}`."""
    labels = record.get("label") if isinstance(record, dict) else None
    return (
        isinstance(labels, dict)
        and isinstance(record.get("text"), str)
        and all(isinstance(each, dict) for each in labels.values())
    )


def _of_cluener(record: Dict[str, Any]) -> Dict[str, Any]:
    """Converts entities by label and words, which include their ends."""
    spans = [
        {"start": start, "end": end + 1, "label": label, "text": words}
        for label, by_words in record["label"].items()
        for words, places in by_words.items()
        for start, end in places
    ]
    return {**{key: value for key, value in record.items() if key != "label"}, "spans": spans}


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
