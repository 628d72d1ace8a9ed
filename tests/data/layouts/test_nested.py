"""JSON with texts, tokens or entities under other keys, or without offsets."""

import json
import re
from collections import Counter

import pytest

from tagger.data.formats import read_texts
from tagger.data.formats.quoted_entities import located
from tests.data.layouts.reading import read_by_convert, read_by_start

TEXT = "Ann Lee left Rome"
WORDS, TAGS = TEXT.split(), ["B-PER", "I-PER", "O", "B-LOC"]
SPANS = [(0, 7, "PER"), (13, 17, "LOC")]
OF_TOKENS = [(0, 2, "PER"), (3, 4, "LOC")]


def spans(*keys, entities=SPANS):
    return [dict(zip(keys, each)) for each in entities]


def nested(start, end, label):
    return {
        "extraction": {"segment": {"start_offset": start, "end_offset": end}},
        "display_name": label,
    }


def bioc(shift):
    places = [
        {
            "infons": {"type": label},
            "text": TEXT[i:j],
            "locations": [{"offset": i + shift, "length": j - i}],
        }
        for i, j, label in SPANS
    ]
    return {"offset": shift, "infons": {}, "text": TEXT, "annotations": places}


def argilla(entities, user="u", **rest):
    value = {"value": entities, "user_id": user}
    return {"id": 7, "fields": {"text": TEXT}, "responses": {"span": [value]}, **rest}


TOKENS = [
    dict(zip(("id", "word", "pos", "ner"), each)) for each in zip((1, 2, 3, 4), WORDS, "NNVN", TAGS)
]
MORE = [(n, n + 1, "PER") for n in range(4)]
RIGHT = {
    "snippet": {"text_snippet": {"content": TEXT}, "annotations": [nested(*each) for each in SPANS]},
    "argilla": argilla(spans("start", "end", "label")),
    "suggestions": argilla(spans("start", "end", "label"), suggestions={"span": {
        "value": spans("start", "end", "label", entities=SPANS[:1])}}),
    "manifest": {"source": TEXT, "job": {"annotations": {
        "entities": spans("startOffset", "endOffset", "label"), "labels": [{"label": "PER"}]}}},
    "kili": {"content": TEXT, "labels": [{"jsonResponse": {"JOB_0": {"annotations": [
        {"beginOffset": i, "endOffset": j, "categories": [{"name": label}], "content": TEXT[i:j]}
        for i, j, label in SPANS]}}}]},
    "azure": {"documents": [{"text": TEXT, "entities": [
        {"category": label, "offset": i, "length": j - i} for i, j, label in SPANS]}]},
    "passages": {"documents": [{"id": "d", "passages": [bioc(0)]}]},
    "second passage": {"id": "d", "passages": [{"offset": 0, "text": "No", "annotations": []}, bioc(3)]},
    "flair": {"text": TEXT, "entities": [{"text": TEXT[i:j], "start_pos": i, "end_pos": j,
              "labels": [{"value": label, "confidence": 0.9}]} for i, j, label in SPANS]},
    "pos": {"sentence": TEXT, "entities": [
        {"name": TEXT[i:j], "type": label, "pos": [i, j]} for i, j, label in SPANS]},
    "by label": {"text": TEXT, "entities": {
        label: [{"indices": [i, j]}] for i, j, label in SPANS}},
    "pairs by label": {"text": TEXT, "entities": {label: [[i, j]] for i, j, label in SPANS}},
    "words by label": {"text": TEXT, "entities": {label: [TEXT[i:j]] for i, j, label in SPANS}},
    "words": {"text": TEXT, "entities": [
        {"text": TEXT[i:j], "type": label} for i, j, label in SPANS]},
    "pieces": {"Travel": [{"data": [
        {"text": "Ann Lee", "entity": "PER"}, {"text": " left "}, {"text": "Rome", "entity": "LOC"}]}]},
    "spacy": {"text": TEXT, "ents": spans("start", "end", "label"),
              "tokens": spans("start", "end", "tag", entities=[
                  (0, 3, "N"), (4, 7, "N"), (8, 12, "V"), (13, 17, "N")])},
    "objects": {"docId": "a", "sentences": [{"index": 0, "tokens": TOKENS}]},
    "lists of objects": [TOKENS],
    "text list": {"text": WORDS, "label": TAGS},
    "several lists": {"token": WORDS, "stanford_pos": [*"NNVN"],
                      "stanford_ner": ["PER", "PER", "O", "LOC"]},
    "exclusive tokens": {"tokens": WORDS, "entities": spans("start", "end", "type", entities=OF_TOKENS)},
    "inclusive tokens": {"words": WORDS, "mentions": spans(
        "start", "end", "entity-type", entities=[(0, 1, "PER"), (3, 3, "LOC")])},
    "document": {"doc_key": "a", "sentences": [["Yes"], WORDS],
                 "ner": [[], [[1, 2, "PER"], [4, 4, "LOC"]]]},
}  # fmt: skip
REFUSED = {
    "two annotators": ([argilla(spans("start", "end", "label")) | {"responses": {"span": [
        {"value": spans("start", "end", "label", entities=SPANS[:n])} for n in (1, 2)]}}],
        "2 lists of entities for the text `fields.text`, under `responses.span[].value`; keep one"),
    "twice": ([{"text": "Ann met Ann", "entities": [{"text": "Ann", "type": "PER"}]}],
              "has no offsets, is listed 1 times, and is 2 times in the text"),
    "inside a word": ([{"text": "Annie", "entities": [{"text": "Ann", "type": "PER"}]}],
                      "is listed 1 times, and is 0 times in the text"),
    "unclear ends": ([{"tokens": WORDS, "entities": spans("start", "end", "type", entities=MORE[:1])}],
                     "it is unclear whether ends are inclusive"),
    "of sentences": ([{"sentences": [WORDS, WORDS], "ner": [[[0, 1, "PER"]], [[0, 1, "PER"]]]}],
                     "expected entities in `ner` at tokens 4 to 7, counted from the start of the doc"),
    "unannotated": ([argilla(spans("start", "end", "label")),
                     {"fields": {"text": TEXT}, "responses": {}}],
                    "expected an object with a `text`"),
    "elsewhere": ([{"title": "a", "sents": [WORDS], "vertexSet": [[{"name": "Ann", "pos": [0, 1]}]]}],
                  "what looks like entities is under `vertexSet[]`"),
    "no list": ([{"instruction": "Tag", "output": "PER: Ann"}], "there is no list of entities"),
    "error": ([{"error": "Access is restricted"}], "an error message of a server"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("read", [read_by_start, read_by_convert])
def test_nested_entities_are_read_rightly(name, read, tmp_path):
    path = tmp_path / "all.json"
    path.write_text(json.dumps([RIGHT[name]] if isinstance(RIGHT[name], dict) else RIGHT[name]))
    found = Counter((label, each.text[i:j]) for each in read(path) for label, i, j in each.entities)
    assert found == {("PER", "AnnLee"): 1, ("LOC", "Rome"): 1}


def test_what_stands_beside_nested_texts_is_kept(tmp_path):
    passages = [{"id": n, "kind": "title", "text": TEXT, "annotations": spans("start", "end", "label"),
                 "flags": []} for n in (1, 2)]  # fmt: skip
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"id": "d", "lang": "en", "passages": passages, "notes": [1]}))
    kept = [each.properties for each in read_texts(path)]
    assert [each.pop("paths")[0] for each in kept] == ["passages[0].text", "passages[1].text"]
    assert kept == [{"id": n, "kind": "title", "doc_id": "d", "lang": "en"} for n in (1, 2)]


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("read", [read_by_start, read_by_convert])
def test_what_is_unclear_is_refused_with_a_remedy(name, read, tmp_path):
    records, message = REFUSED[name]
    path = tmp_path / "all.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    with pytest.raises(ValueError, match=re.escape(message)):
        read(path)


def test_words_that_are_listed_as_often_as_they_occur_are_found():
    entities = [{"text": "Ann", "type": "PER"}] * 2
    assert [each["start"] for each in located("Ann met Ann", entities)] == [0, 8]
    entities = [{"token": "Ann", "label": "PER", "assertions": ["certain"], "links": []}]
    assert located("Ann left", entities) == [{"start": 0, "end": 3, "label": "PER"}]
    placed = [{"text": "Ann", "label": "PER", "offsets": [[0, 3]]}]
    assert located("Ann left", placed) == placed
