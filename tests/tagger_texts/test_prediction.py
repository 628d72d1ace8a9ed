"""One record says what a tagger found, and nothing hands it on as a dictionary."""

import ast
from collections import Counter

import pytest

from tagger_texts.prediction import AnswerSet, Entity, Prediction, SequenceSet
from tagger_texts.text import Text
from tests.conftest import ROOT

TEXT = Text.of_words(["Ada", "left", "York"])
FULL = Prediction(
    tags=["B-PER", "O", "B-LOC"],
    probabilities=[{"O": 0.5}] * 3,
    entities=[Entity.of_tokens("PER", 0, 0, 0.75), Entity.of_tokens("LOC", 2, 2)],
    candidates=[],
    leak_probability=0.0,
    expected_missed=0.25,
    sets=[AnswerSet(2, [Entity.of_tokens("LOC", 2, 2, 0.5)], 0.25)],
    sequences=[SequenceSet(0, 2, [(["B-PER", "O", "B-LOC"], 0.75), (["O", "O", "O"], 0.125)])],
)
#: What a text is at each station: its words, what a tagger says of it, what Python users get, and an
#: annotated text of a file.
TYPES = ["Text", "Prediction", "Entity", "TaggedText", "AnnotatedText"]
#: Names that have meant several things.
NAMES = ["Batch", "Candidates", "Chain", "FoundEntities", "Part", "Row", "Window"]
FIELDS = {"entities", "candidates", "leak_probability", "expected_missed"}


@pytest.fixture(scope="module")
def modules():
    """The syntax trees of our modules by path."""
    packages = ("tagger", "tagger_onnx", "tagger_texts")
    paths = sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))
    assert len(paths) > 300
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


@pytest.mark.parametrize("found", [Prediction(), FULL, TEXT.locate(FULL, is_document=True)])
def test_json_is_read_as_it_was_written(found):
    assert Prediction.from_json({**found.to_json(), "error": 1}) == found


def test_json_has_what_is_known_in_order():
    found = TEXT.locate(FULL, is_document=True).to_json()
    assert list(found) == [name for name in Prediction._fields if name != "labels"]
    assert found["sentences"] == [[0, 2]]
    assert found["entities"][1] == {
        **{"label": "LOC", "text": "York", "start": 9, "end": 13, "first": 2, "last": 2}
    }
    assert found["sets"] == [
        {
            "token": 2,
            "alternatives": [{**found["entities"][1], "probability": 0.5}],
            "none": 0.25,
        }
    ]
    assert found["sequences"][0]["sequences"][1] == {"tags": ["O"] * 3, "probability": 0.125}
    assert FULL.to_json()["entities"][0] == {
        **{"label": "PER", "first": 0, "last": 0, "probability": 0.75}
    }


def test_a_part_has_the_entities_that_begin_in_it_and_no_leaks():
    assert FULL.of_tokens(slice(1, 3)) == Prediction(
        tags=["O", "B-LOC"],
        probabilities=FULL.probabilities[1:],
        entities=[Entity.of_tokens("LOC", 1, 1)],
        candidates=[],
    )


def names_of(statement):
    """What a class, or an alias of a type, is called."""
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return [statement.name] if isinstance(statement, ast.ClassDef) else []


def test_each_type_of_text_and_each_name_is_one_class(modules):
    names = Counter(
        name.strip("_")
        for tree in modules.values()
        for each in tree.body
        for name in names_of(each)
    )
    assert {name: names[name] for name in TYPES} == dict.fromkeys(TYPES, 1)
    assert not [name for name in NAMES if names[name] > 1]


def test_no_module_takes_a_prediction_from_a_dictionary(modules):
    """Formats of files have other keys."""
    found = [
        f"{path}:{node.lineno}"
        for path, tree in modules.items()
        if not path.startswith("tagger/data/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Constant)
        and node.slice.value in FIELDS
    ]
    assert found == []
