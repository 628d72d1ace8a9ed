"""JSON, CSV and Parquet of texts with spans, or of tokens with tags, in random layouts."""

import csv
import io
import json
from random import Random
from typing import Any, Dict, List, Sequence, Tuple

from tagger.spans import spans_to_tags
from tests.data.layouts.cases import Case, pick, with_bytes
from tests.data.layouts.contents import Corpus, contents_of_texts, random_corpus

_TEXT_KEYS = ("text", "content", "sentence", "source_text", "generated_text", "full_text", "data")
_ENTITY_KEYS = (
    *("entities", "spans", "label", "labels", "annotations", "privacy_mask", "pii_spans"),
    *("named_entities", "mentions"),
)
_PARTS = (
    ("start", "end", "label"),
    ("start", "end", "type"),
    ("start", "end", "entity_group"),
    ("start", "end", "entity_type"),
    ("start", "end", "entity"),
    ("start", "end", "category"),
    ("start", "end", "tag"),
    ("start_char", "end_char", "label"),
    ("start_offset", "end_offset", "label"),
    ("startOffset", "endOffset", "category"),
    ("begin", "end", "type"),
    ("BeginOffset", "EndOffset", "Type"),
    ("start_index", "end_index", "label"),
    ("from", "to", "name"),
    ("offset", "length", "category"),
    ("start", "end", "labels"),
)
_QUOTES = ("text", "surface", "mention", "value")
_UNITS = ("characters", "utf16", "bytes", "inclusive")
_EXTRA_KEYS = {
    "id": 7, "score": 0.5, "meta": {"source": "a"}, "author": "Ann", "annotator": 1, "language": "en",
    "flags": [], "Comments": [], "created_at": "2023-01-01T00:00:00Z", "cats": {"x": 1},
    "title": "A headline of Ann", "url": "https://example.org/a", "num_tokens": 3, "is_gold": True,
}  # fmt: skip
#: Keys of documents; two are inside others.
_DOCUMENT_KEYS = (
    *("doc_id", "document", "document_id", "group", "file_name", "article_id", "pmid"),
    *("meta.doc_id", "metadata.document"),
)


def span_case(rng: Random) -> Case:
    """Makes a file of texts with spans."""
    corpus = random_corpus(rng, may_nest=True)
    keys = pick(rng, *_TEXT_KEYS), pick(rng, *_ENTITY_KEYS, usual=0.3)
    traits = {
        "keys": keys, "form": pick(rng, "list", "object", "quoted", usual=0.3),
        "parts": rng.choice(_PARTS), "quote": rng.choice(_QUOTES),
        "unit": pick(rng, *_UNITS, usual=0.7), "around": pick(rng, "", " ", "\n", usual=0.8),
        "extras": rng.sample(list(_EXTRA_KEYS), rng.randint(0, 3)),
        "document_key": pick(rng, None, *_DOCUMENT_KEYS, usual=0.6),
        "container": pick(rng, "lines", "list", "object", "values", "csv", "parquet", usual=0.4),
        "script": corpus.script, "labels": corpus.labels, "nested": corpus.is_nested,
    }  # fmt: skip
    if traits["parts"][2] == "entity" and traits["quote"] == "value":
        traits["quote"] = "text"  # Rasa's value is a normal form
    corpus = corpus.with_names(rng, traits["document_key"] is not None)
    records = [_record(corpus, index, traits) for index in range(len(corpus.sentences))]
    kind = "spans, nested" if corpus.is_nested else "spans"
    case = Case(kind, "file.jsonl", b"", contents_of_texts(corpus), traits)
    unit = traits["unit"]
    if unit != "characters":
        case = case._replace(kind=f"spans, {unit}", reading={"offsets": unit})
        # Without quotes or blanks behind names, nobody sees that an end is inclusive.
        has_blanks = corpus.joint != "" and corpus.script != "korean"
        is_seen = unit != "inclusive" or has_blanks or traits["form"] == "quoted"
        if is_seen and rng.random() < 0.4:
            case = case._replace(
                kind=f"spans, {unit}, unsaid",
                reading={},
                refusal=f"--offsets {unit}|is not within|in the record|one character early",
            )
    return contained(rng, _with_documents(case, corpus, traits), records)


def _with_documents(case: Case, corpus: Corpus, traits: Dict[str, Any]) -> Case:
    is_marked = traits["document_key"] is not None
    return case._replace(document_of=corpus.document_of) if is_marked else case


def _named(record: Dict[str, Any], name: str, traits: Dict[str, Any]) -> Dict[str, Any]:
    """Gives a record the name of its document."""
    outer, _, key = (traits["document_key"] or "").rpartition(".")
    if not key:
        return record
    return {**record, outer: {key: name, "page": 1}} if outer else {**record, key: name}


def _record(corpus: Corpus, index: int, traits: Dict[str, Any]) -> Dict[str, Any]:
    text, entities = corpus.text_of(corpus.sentences[index])
    around = traits["around"]
    text = f"{around}{text}{around}"
    entities = [(label, i + len(around), j + len(around)) for label, i, j in entities]
    text_key, entity_key = traits["keys"]
    extras = {key: _EXTRA_KEYS[key] for key in traits["extras"]}
    found = [_entity(text, entity, traits) for entity in entities]
    record = {**extras, text_key: text, entity_key: found}
    return _named(record, corpus.document_of[index], traits)


def _entity(text: str, entity: Tuple[str, int, int], traits: Dict[str, Any]) -> Any:
    label, first, last = entity
    start, end = (_offset(text, place, traits["unit"]) for place in (first, last))
    end -= traits["unit"] == "inclusive"
    if traits["form"] == "list":
        return [start, end, label]
    start_key, end_key, label_key = traits["parts"]
    found = {
        start_key: start,
        end_key: end - start if end_key == "length" else end,
        label_key: [label] if label_key == "labels" else label,
        "score": 0.9,
    }
    return {**found, traits["quote"]: text[first:last]} if traits["form"] == "quoted" else found


def _offset(text: str, place: int, unit: str) -> int:
    before = text[:place]
    if unit == "bytes":
        return len(before.encode())
    return len(before.encode("utf-16-le")) // 2 if unit == "utf16" else place


def contained(rng: Random, case: Case, records: Sequence[Dict[str, Any]]) -> Case:
    """Puts records into one of the containers."""
    container = case.traits["container"]
    indent = pick(rng, None, 1, 2)
    dumped = [json.dumps(each, ensure_ascii=rng.random() < 0.3) for each in records]
    if container == "parquet":
        return case._replace(name="file.parquet", content=_parquet(records))
    if container == "csv":
        return with_bytes(rng, case._replace(name="file.csv"), _csv(records), may_change_ends=False)
    if container == "lines":
        return with_bytes(rng, case, "\n".join(dumped) + "\n")
    case = case._replace(name="file.json")
    if container == "list":
        return with_bytes(rng, case, json.dumps(list(records), indent=indent, ensure_ascii=False))
    if container == "object":
        whole = {rng.choice(("data", "examples", "annotations", "records")): list(records)}
        return with_bytes(rng, case, json.dumps(whole, indent=indent, ensure_ascii=False))
    return with_bytes(rng, case, "\n".join(json.dumps(each, indent=2) for each in records))


def _csv(records: Sequence[Dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(list(records[0]))
    for record in records:
        cells = (
            json.dumps(each) if isinstance(each, (list, dict)) else each for each in record.values()
        )
        writer.writerow(list(cells))
    return text.getvalue()


def _parquet(records: Sequence[Dict[str, Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    content = io.BytesIO()
    # Lists of different types have no Arrow type, so they are JSON there.
    rows = [
        {
            key: json.dumps(value)
            if isinstance(value, (list, dict)) and any(isinstance(each, list) for each in value)
            else value
            for key, value in record.items()
        }
        for record in records
    ]
    strings = {key for row in rows for key, value in row.items() if isinstance(value, str)}
    rows = [{k: "[]" if k in strings and v == [] else v for k, v in row.items()} for row in rows]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), content)
    return content.getvalue()


def token_case(rng: Random) -> Case:
    """Makes a file of tokens with tags, or of tokens with spans of tokens."""
    form = pick(rng, "tags", "numbers", "gliner", "spacy2", "tokens and spans", usual=0.4)
    corpus = random_corpus(rng, may_nest=form in ("gliner", "tokens and spans"))
    traits = {
        "form": form,
        "keys": (rng.choice(("tokens", "words")), rng.choice(("ner_tags", "tags", "labels", "ner"))),
        "encoding": pick(rng, "BIO", "BIOUL", "IOB1", "IOBES"),
        "extras": rng.sample(list(_EXTRA_KEYS), rng.randint(0, 3)),
        "document_key": None if form == "spacy2" else pick(rng, None, *_DOCUMENT_KEYS, usual=0.6),
        "container": pick(rng, "lines", "list", "object", "values", "parquet", usual=0.4),
        "first_ids": form in ("tags", "gliner") and rng.random() < 0.08,
        "script": corpus.script, "labels": corpus.labels, "nested": corpus.is_nested,
    }  # fmt: skip
    if form == "spacy2":
        traits["container"] = "list"
    if form not in ("tags", "numbers") and traits["container"] == "parquet":
        traits["container"] = "lines"
    if traits["first_ids"]:
        corpus = corpus.mapped(lambda sentence, n: sentence.behind(f"sent_{n:03}"))
    corpus = corpus.with_names(rng, traits["document_key"] is not None or form == "spacy2")
    truth = [each.content for each in corpus.sentences]
    if form == "tokens and spans":
        truth = contents_of_texts(corpus)
    case = Case(f"tokens, {form}", "file.jsonl", b"", truth, traits)
    if form == "numbers":
        case = case._replace(reading={"label_names": _label_names(corpus, traits)})
        if rng.random() < 0.3:
            kind, refusal = "tokens, numbers, unsaid", "--label-names"
            case = case._replace(kind=kind, reading={}, refusal=refusal)
    if traits["first_ids"]:
        case = case._replace(kind="tokens, identifiers first", doubt=1)
    case = _with_documents(case, corpus, traits)
    if form == "spacy2":
        case = case._replace(document_of=corpus.document_of)
    return contained(rng, case, _token_records(corpus, traits))


def _label_names(corpus: Corpus, traits: Dict[str, Any]) -> List[str]:
    prefixes = {"BIO": "BI", "IOB1": "BI", "BIOUL": "BILU", "IOBES": "BIES"}[traits["encoding"]]
    return ["O", *(f"{prefix}-{label}" for label in corpus.labels for prefix in prefixes)]


def _token_records(corpus: Corpus, traits: Dict[str, Any]) -> List[Dict[str, Any]]:
    form = traits["form"]
    extras = {key: _EXTRA_KEYS[key] for key in traits["extras"] if key not in ("flags", "Comments")}
    if form == "spacy2":
        return [_spacy_2(*each) for each in zip(corpus.names, corpus.documents)]
    numbers = {name: number for number, name in enumerate(_label_names(corpus, traits))}
    records = []
    for sentence, name in zip(corpus.sentences, corpus.document_of):
        text, entities = corpus.text_of(sentence)
        if form in ("tags", "numbers"):
            tags = [*spans_to_tags(sentence.spans, len(sentence.tokens), traits["encoding"])]
            values = [numbers[tag] for tag in tags] if form == "numbers" else tags
            record = dict(zip(traits["keys"], (sentence.tokens, values)))
        elif form == "gliner":
            ner = [[first, last, label] for label, (first, last) in sentence.spans]
            record = {"tokenized_text": sentence.tokens, "ner": ner}
        else:
            spans = [{"start": i, "end": j, "label": label} for label, i, j in entities]
            record = {"text": text, "tokens": sentence.tokens, "spans": spans}
        records.append(_named({**extras, **record}, name, traits))
    return records


def _spacy_2(name: str, document: Any) -> Dict[str, Any]:
    """A document with a paragraph for each sentence."""
    paragraphs = []
    for sentence in document:
        tags = spans_to_tags(sentence.spans, len(sentence.tokens), "BIOUL")
        tokens = [
            {"id": i, "orth": w, "ner": t} for i, (w, t) in enumerate(zip(sentence.tokens, tags))
        ]
        paragraphs.append({"raw": " ".join(sentence.tokens), "sentences": [{"tokens": tokens}]})
    return {"id": name, "paragraphs": paragraphs}
