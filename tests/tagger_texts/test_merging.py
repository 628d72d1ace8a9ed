"""What parts of a text say becomes what is said of the text."""

import pytest

from tagger_texts.merging import merged_chains, merged_pieces

MISSED = [
    {"tags": ["O"], "leak_probability": 0.5, "expected_missed": 1.0},
    {"tags": ["O"], "leak_probability": 0.2, "expected_missed": 0.25},
]


@pytest.mark.parametrize("merged", [merged_pieces, merged_chains])
def test_parts_miss_something_independently(merged):
    found = merged(MISSED)
    assert found["leak_probability"] == pytest.approx(0.6)
    assert found["expected_missed"] == 1.25


def test_entities_of_chains_are_in_the_order_of_the_text_and_longer_ones_first():
    chains = [
        {"tags": ["B-A", "B-A"], "entities": [{"first": 0, "last": 0}, {"first": 1, "last": 1}]},
        {"tags": ["B-B", "I-B"], "entities": [{"first": 0, "last": 1}]},
    ]
    found = merged_chains(chains)
    places = [(each["first"], each["last"]) for each in found["entities"]]
    assert places == [(0, 1), (0, 0), (1, 1)]
    assert found["tags"] == ["B-A|B-B", "B-A|I-B"]


@pytest.mark.parametrize("others", [{}, {"B-B": 0.0}], ids=["left out", "0"])
def test_probabilities_of_chains_are_of_all_tags_but_o(others):
    chains = [
        {"tags": ["O"], "probabilities": [{"O": 0.9, "B-A": 0.1, **others}]},
        {"tags": ["O"], "probabilities": [{"O": 0.7, "B-B": 0.3}]},
    ]
    assert merged_chains(chains)["probabilities"] == [{"B-A": 0.1, "B-B": 0.3}]
