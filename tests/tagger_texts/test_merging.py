"""What parts of a text say becomes what is said of the text."""

import pytest

from tagger_texts.merging import merged_chains, merged_pieces
from tagger_texts.prediction import AnswerSet, Entity, Prediction, SequenceSet

LEAKS = [
    Prediction(tags=["O"], leak_probability=0.5, expected_missed=1.0),
    Prediction(tags=["O"], leak_probability=0.2, expected_missed=0.25),
]


@pytest.mark.parametrize("merged", [merged_pieces, merged_chains])
def test_parts_leak_independently(merged):
    found = merged(LEAKS)
    assert found.leak_probability == pytest.approx(0.6)
    assert found.expected_missed == 1.25


@pytest.mark.parametrize("merged", [merged_pieces, merged_chains])
def test_what_parts_do_not_give_is_not_given(merged):
    found = merged([Prediction(tags=["O"], candidates=[])] * 2).to_json()
    assert found == {"tags": ["O", "O"] if merged is merged_pieces else ["O"], "candidates": []}


def test_entities_of_chains_are_in_the_order_of_the_text_and_longer_ones_first():
    single = [Entity.of_tokens("A", 0, 0), Entity.of_tokens("A", 1, 1)]
    chains = [
        Prediction(tags=["B-A", "B-A"], entities=single),
        Prediction(tags=["B-B", "I-B"], entities=[Entity.of_tokens("B", 0, 1)]),
    ]
    found = merged_chains(chains)
    assert [(each.first, each.last) for each in found.entities] == [(0, 1), (0, 0), (1, 1)]
    assert found.tags == ["B-A|B-B", "B-A|I-B"]


def test_sets_of_pieces_follow_one_another_and_those_of_chains_are_in_the_order_of_the_text():
    entities = [Entity.of_tokens("A", 1, 1, 0.5), Entity.of_tokens("B", 0, 0, 0.5)]
    parts = [
        Prediction(
            tags=["O", "O"],
            sets=[AnswerSet(each.first, [each], 0.25)],
            sequences=[SequenceSet(0, 1, [(["O", "O"], 0.5)])],
        )
        for each in entities
    ]
    of_pieces, of_chains = merged_pieces(parts), merged_chains(parts)
    assert [(each.token, each.alternatives[0].first) for each in of_pieces.sets] == [(1, 1), (2, 2)]
    assert [(each.first, each.last) for each in of_pieces.sequences] == [(0, 1), (2, 3)]
    assert [each.alternatives for each in of_chains.sets] == [[entities[1]], [entities[0]]]


@pytest.mark.parametrize("others", [{}, {"B-B": 0.0}], ids=["left out", "0"])
def test_probabilities_of_chains_are_of_all_tags_but_o(others):
    chains = [
        Prediction(tags=["O"], probabilities=[{"O": 0.9, "B-A": 0.1, **others}]),
        Prediction(tags=["O"], probabilities=[{"O": 0.7, "B-B": 0.3}]),
    ]
    assert merged_chains(chains).probabilities == [{"B-A": 0.1, "B-B": 0.3}]
