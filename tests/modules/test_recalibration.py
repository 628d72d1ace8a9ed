import pytest
import torch

from tagger.modules import CrfHead
from tagger.modules.recalibration import Recalibration
from tagger_onnx.tagged_text import Extras
from tests.spans.tagged import vocabulary_of

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
COEFFICIENTS = {"X": [0.5, 0.3, -1.0]}


def heads(**settings):
    """A head, and one with the same weights and a recalibration."""
    for recalibration in (None, COEFFICIENTS):
        torch.manual_seed(1)
        yield CrfHead(
            vocabulary_of(TAGS), tag_encoding="BIO", recalibration=recalibration, **settings
        )


def test_the_order_of_probabilities_stays_up_to_the_last_that_float32_tells_apart():
    correct = Recalibration(["X", "Y"], COEFFICIENTS)
    near_one = 1 - 2.0 ** -torch.arange(2.0, 25)
    probabilities = torch.cat([torch.logspace(-7, -0.5, 50), near_one, torch.ones(1)]).double()
    labels = torch.zeros(len(probabilities), dtype=torch.int64)
    corrected = correct(probabilities, labels)
    assert (corrected.diff()[:-1] > 0).all()
    assert 0 < corrected[0] < corrected[-1] < 1
    # By hand: .5 log .9 - .3 log .1 - 1
    one = correct(torch.tensor([0.9, 0.9]), torch.tensor([0, 1]))
    assert one.tolist() == pytest.approx([1 / (1 + 2.718281828 ** (0.36190)), 0.9], abs=1e-4)


def test_only_reported_probabilities_change_and_thresholds_decide_by_the_others():
    emissions, mask = torch.randn(8, 6, 5) * 2, torch.ones(8, 6, dtype=torch.bool)
    plain, corrected = heads(entity_thresholds={"X": 0.4})
    for head in (plain, corrected):
        head.give(Extras(candidates=0.05))
    before, after = (head.predict(emissions, mask) for head in (plain, corrected))
    assert torch.equal(before["predicted_tags"], after["predicted_tags"])
    assert torch.equal(before["candidate_labels"], after["candidate_labels"])
    is_x = before["predicted_tags"] == TAGS.index("B-X")
    old, new = (each["entity_probabilities"] for each in (before, after))
    assert is_x.sum() > 3
    assert (new[is_x] < 0.4).any()
    wanted = corrected.recalibration(old[is_x], torch.zeros(int(is_x.sum()), dtype=torch.int64))
    torch.testing.assert_close(new[is_x], wanted)
    assert torch.equal(new[~is_x], old[~is_x])
    is_x = (before["candidate_labels"] == 0) & (before["candidate_lengths"] > 0)
    assert (after["candidate_probabilities"] != before["candidate_probabilities"])[is_x].all()
