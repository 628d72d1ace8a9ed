"""Sets of answers equal what an enumeration of all sequences says."""

import pytest
import torch

from tagger.modules import CrfHead
from tagger.modules.heads.answer_sets import best_sequences, uncertain_places
from tagger_texts.prediction import Entity, Prediction
from tagger_texts.tagged_text import Extras, SetThresholds
from tests.linear_chain.chains import mask_of
from tests.modules.heads.test_chain_head import (
    HEADS,
    LENGTHS,
    TAGS,
    chains,
    emissions,
    key_of,
    scores_of,
    span_probabilities,
    vocab,
)

assert emissions
assert vocab


@pytest.fixture(params=HEADS)
def head(request, vocab):
    torch.manual_seed(1)
    return HEADS[request.param](vocab, tag_encoding="BIO").double()


def predict(head, emissions, *thresholds):
    extras = Extras(sets=SetThresholds(*thresholds))
    output = head.predict(emissions.double(), mask_of(LENGTHS), extras)
    found = head.predictions(output, LENGTHS)
    assert not output
    return found


@pytest.mark.parametrize("least", [0.02, 0.2, 0.6])
def test_sets_hold_all_entities_that_may_contain_a_token(head, emissions, least):
    found = predict(head, emissions, least, None)
    num_sets = num_shared = 0
    for row, chain in chains(head, emissions).items():
        probabilities = span_probabilities(chain)
        predicted = {key_of(each) for each in found[row].entities}
        kept = {span for span, p in probabilities.items() if p >= least} | predicted
        paths = chain.probabilities().tolist()
        for each in found[row].sets:
            expected = {s: probabilities[s] for s in kept if s[1][0] <= each.token <= s[1][1]}
            given = {key_of(own): own.probability for own in each.alternatives}
            assert given == pytest.approx(expected)
            assert list(given.values()) == sorted(given.values(), reverse=True)
            none = [p for p, path in zip(paths, chain.paths) if TAGS[path[each.token]] == "O"]
            assert each.none == pytest.approx(sum(none))
            assert sum(given.values()) + each.none <= 1 + 1e-9
            # Else nothing is uncertain.
            is_answer = each.none >= least or not predicted & given.keys()
            assert len(given) + is_answer > 1 or max(given.values()) < least
            num_shared += len(given) > 1
        listed = {key_of(own) for each in found[row].sets for own in each.alternatives}
        for span in kept - listed:
            # Every entity that is left out is predicted, and has no rival at one of its tokens.
            assert span in predicted
            assert probabilities[span] >= least
            assert any(
                not [s for s in kept - {span} if s[1][0] <= token <= s[1][1]]
                for token in range(span[1][0], span[1][1] + 1)
            )
        num_sets += len(found[row].sets)
    assert found[LENGTHS.index(0)].sets == []
    assert num_sets > 0 or least > 0.5
    assert num_shared > 0 or least > 0.1


@pytest.mark.parametrize("most_before", [0.0, 0.4, 0.9])
def test_sequences_are_the_best_until_they_are_probable_enough(head, emissions, most_before):
    found, most = predict(head, emissions, None, most_before), 1
    for row, chain in chains(head, emissions).items():
        probabilities = chain.probabilities()
        order = probabilities.argsort(descending=True).tolist()
        expected, before = [], 0.0
        for k in order:
            if before > most_before or len(expected) == 64 or probabilities[k] == 0:
                break
            expected.append(([TAGS[tag] for tag in chain.paths[k]], float(probabilities[k])))
            before += float(probabilities[k])
        if len(expected) == 1:
            assert found[row].sequences == []
            continue
        (of_row,) = found[row].sequences
        assert (of_row.first, of_row.last) == (0, LENGTHS[row] - 1)
        given = {tuple(tags): p for tags, p in of_row.sequences}
        assert given == pytest.approx({tuple(tags): p for tags, p in expected})
        most = max(most, len(expected))
    assert most > 5 or most_before < 0.9
    assert found[LENGTHS.index(0)].sequences == []


def test_the_mass_before_a_sequence_is_that_of_all_better_ones(head, emissions):
    best = best_sequences(scores_of(head, emissions), mask_of(LENGTHS))
    # A sequence at the limit is kept.
    (of_first,) = predict(head, emissions, None, float(best.before[0, 3]))[0].sequences
    assert len(of_first.sequences) == 4
    for row, chain in chains(head, emissions).items():
        every = chain.probabilities().sort(descending=True).values[:64]
        torch.testing.assert_close(best.probabilities[row, : len(every)], every)
        torch.testing.assert_close(best.before[row, : len(every)], every.cumsum(0) - every)


def test_biases_change_predictions_and_add_them_but_nothing_else(vocab, emissions):
    heads = []
    for settings in ({}, {"decode_bias": {"Y": 9.0}}):
        torch.manual_seed(1)
        heads.append(CrfHead(vocab, tag_encoding="BIO", **settings).double())
    plain, biased = (predict(each, emissions, 0.4, 0.9) for each in heads)
    added = 0
    for before, after in zip(plain, biased):
        assert before.sequences == after.sequences
        improbable = {key_of(each) for each in after.entities if each.probability < 0.4}
        listed = {key_of(own) for each in after.sets for own in each.alternatives}
        assert improbable <= listed
        added += len(improbable)
    assert added > 0


def test_recalibration_does_not_change_sets(vocab, emissions):
    found = []
    for recalibration in (None, {"X": [0.1, 3.0, 0.0], "Y": [0.1, 3.0, 0.0]}):
        torch.manual_seed(1)
        head = CrfHead(vocab, tag_encoding="BIO", recalibration=recalibration).double()
        found.append(predict(head, emissions, 0.95, None))
    before, after = found
    assert [each.sets for each in before] == [each.sets for each in after]
    assert [each.entities for each in before] != [each.entities for each in after]


def test_two_short_entities_and_a_long_one_are_asked_about_where_they_exclude_one_another():
    def entity(label, first, last, probability):
        return Entity.of_tokens(label, first, last, probability)

    short, other = entity("LOC", 0, 0, 0.5), entity("LOC", 2, 2, 0.5)
    long, sure = entity("ORG", 0, 2, 0.4), entity("PER", 4, 4, 0.99)
    predicted = {each[:6] for each in (short, other, sure)}
    none = [0.1, 0.6, 0.1, 1.0, 0.01]
    found = uncertain_places([short, long, other, sure], predicted, none, 0.05)
    assert [(each.token, each.alternatives) for each in found] == [
        (0, [short, long]),
        (2, [other, long]),
    ]
    # No entity is an answer, too, once it is as probable as others have to be.
    found = uncertain_places([sure], predicted, none, 0.01)
    assert [tuple(each) for each in found] == [(4, [sure], 0.01)]
    assert uncertain_places([sure], set(), none, 0.05)[0].alternatives == [sure]
    moved = Prediction(tags=["O"] * 5, sets=found, entities=[]).moved(3)
    assert [(each.token, each.alternatives[0].first) for each in moved.sets] == [(7, 7)]
    assert Prediction.from_json(moved.to_json()).sets[0].token == 7
