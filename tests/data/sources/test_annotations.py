"""Tests of `tagger.data.sources.annotations`."""

import json

import pytest

from tagger.data.formats import AnnotatedText, Annotation, fit_to_tokens
from tagger.data.sources.annotations import (
    SourcedText,
    read_annotations,
    write_annotations,
)


def test_a_file_keeps_all_that_sources_say(tmp_path):
    text = AnnotatedText("Ada left. Bo did.", [], [(0, 3), (4, 8), (8, 9)], [3], "", {"id": 7})
    texts = [
        SourcedText(text, {"anna": [Annotation("PER", 0, 3)], "list": []}),
        SourcedText(text._replace(tokens=None, sentence_lengths=None), {}),
    ]
    path = tmp_path / "a.jsonl"
    write_annotations(texts, path)
    again = [each._replace(text=each.text._replace(place="")) for each in read_annotations(path)]
    assert again == texts


def test_tokens_are_cut_at_the_borders_of_all_sources():
    text = AnnotatedText("US-born Ada", [], [(0, 7), (8, 11)], None, "", {})
    found = {"a": [Annotation("LOC", 0, 2)], "b": [Annotation("PER", 8, 11)]}
    common = SourcedText(text, found).on_common_tokens()
    assert common.text.tokens == [(0, 2), (2, 7), (8, 11)]
    assert common.annotations == found


def test_any_number_of_sources_are_fitted_to_tokens_once(monkeypatch):
    fitted = []

    def fit(text):
        fitted.append(text)
        return fit_to_tokens(text)

    monkeypatch.setattr("tagger.data.sources.annotations.fit_to_tokens", fit)
    text = AnnotatedText("US-born Ada ", [], [(0, 7), (8, 11)], None, "", {})
    found = {name: [Annotation("PER", 8, 11 + number)] for number, name in enumerate("ab")}
    common = SourcedText(text, found).on_common_tokens()
    assert common.annotations == dict.fromkeys("ab", found["a"])
    assert len(fitted) == 1


def test_a_source_that_is_there_twice_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "all.jsonl"
    path.write_text('{"text": "Ada", "annotations": {"a": [], "b": [], "a": [[0, 3, "PER"]]}}\n')
    with pytest.raises(ValueError, match="all.jsonl:1: an object has `a` twice; keep one of them"):
        list(read_annotations(path))


def test_the_longest_of_overlapping_entities_of_a_source_is_kept():
    text = AnnotatedText("Bank of York", [], None, None, "", {})
    found = {"a": [Annotation("ORG", 0, 12), Annotation("LOC", 8, 12)]}
    assert SourcedText(text, found).on_common_tokens().annotations["a"] == found["a"][:1]


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({"text": "Ada"}, "expected `text` and `annotations`"),
        ({"text": "Ada", "annotations": {"a": [[0, 9, "PER"]]}}, "within the text, got .0, 9"),
        ({"text": "Ada", "annotations": {"a": [[0, 3, 1]]}}, "within the text"),
        ({"text": "Ada", "annotations": {"a": 3}}, "expected a list of entities of `a`, got 3"),
        ({"text": "Ada", "annotations": {}, "tokens": [3]}, "expected `tokens` such as"),
        ({"text": "Ada", "annotations": {"": []}}, "the name of a source is blank"),
        ({"text": "Ada", "annotations": {}, "tokens": [[0, 9]]}, "within the text, got .0, 9"),
        ({"text": "Ada", "annotations": {}, "tokens": [[1, 3], [0, 1]]}, "in order .* got .0, 1"),
        *(
            (
                {"text": "A", "annotations": {}, "tokens": [[0, 1]], "sentence_lengths": lengths},
                "numbers from 1 that add up",
            )
            for lengths in ([2], ["x"], 1, [0, 1], [2, -1])
        ),
        ({"text": "A", "annotations": {}, "sentence_lengths": [1]}, "add up"),
    ],
)
def test_a_malformed_record_is_an_error_with_its_place(tmp_path, record, error):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([json.dumps({"text": "x", "annotations": {}}), json.dumps(record)]))
    with pytest.raises(ValueError, match=f"a.jsonl:2: .*{error}"):
        list(read_annotations(path))
