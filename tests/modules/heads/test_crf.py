"""Distillation and recalibration in the CRF head."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tagger.linear_chain import chain_cross_entropy, chain_marginals, log_likelihood
from tagger.modules import CrfHead, SoftmaxHead
from tagger.modules.recalibration import Recalibration
from tagger_texts.tagged_text import Extras
from tests.linear_chain.chains import mask_of, random_chains
from tests.spans.tagged import vocabulary_of

MASK = mask_of([4, 2, 3])
GOLD = torch.tensor([[0, 1, 2, 0], [-1, -1, 0, 0], [0, -1, 0, 0]])


@pytest.fixture
def vocab():
    return vocabulary_of(["O", "B-X", "I-X"])


def make(vocab, **settings):
    torch.manual_seed(0)
    return CrfHead(vocab, tag_encoding="BIO", **settings).double()


def test_the_loss_mixes_gold_tags_and_teacher_and_uses_only_the_teacher_without_gold_tags(vocab):
    head = make(vocab, distillation_weight=0.25)
    student, teacher = random_chains(3, 4, 3), chain_marginals(random_chains(3, 4, 3, seed=1), MASK)
    actual = head.distillation_loss(student.emissions, GOLD, MASK, teacher)
    crf = head.crf
    scores = student._replace(
        transitions=crf.transitions, start=crf.start_transitions, end=crf.end_transitions
    )
    taught = chain_cross_entropy(teacher, scores, MASK)
    gold = -log_likelihood(scores, GOLD, MASK)
    expected = torch.stack(
        [0.75 * gold[0] + 0.25 * taught[0], taught[1], 0.75 * gold[2] + 0.25 * taught[2]]
    )
    torch.testing.assert_close(actual, expected)
    sets = torch.nn.functional.one_hot(GOLD.clamp(min=0), 3).bool() | (GOLD < 0).unsqueeze(2)
    by_sets = head.distillation_loss(student.emissions, sets, MASK, teacher)
    torch.testing.assert_close(by_sets, expected)


def test_a_teacher_is_needed_only_with_a_distillation_weight(vocab):
    assert not make(vocab).needs_teacher
    assert make(vocab, distillation_weight=0.0).needs_teacher


def test_user_errors_are_named(vocab):
    chains = random_chains(3, 4, 3)
    teacher = chain_marginals(chains, MASK)
    with pytest.raises(ConfigurationError, match="`distillation_weight` needs instances with soft"):
        make(vocab, distillation_weight=0.5).distillation_loss(chains.emissions, GOLD, MASK, None)
    for head in (make(vocab), SoftmaxHead(vocab, tag_encoding="BIO")):
        with pytest.raises(ConfigurationError, match="soft labels, which only a head `crf` with"):
            head.distillation_loss(chains.emissions, GOLD, MASK, teacher)
    head = make(vocab, distillation_weight=0.5, constrain_training=True)
    with pytest.raises(ConfigurationError, match="holds tags possible that `constrain_training`"):
        head.distillation_loss(chains.emissions, GOLD * 0, MASK, teacher)


SPANS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
COEFFICIENTS = {"X": [0.5, 0.3, -1.0]}


def test_recalibration_keeps_the_order_up_to_the_resolution_of_float32():
    correct = Recalibration(["X", "Y"], COEFFICIENTS)
    near_one = 1 - 2.0 ** -torch.arange(2.0, 25)
    probabilities = torch.cat([torch.logspace(-7, -0.5, 50), near_one, torch.ones(1)]).double()
    labels = torch.zeros(len(probabilities), dtype=torch.int64)
    corrected = correct(probabilities, labels)
    assert (corrected.diff()[:-1] > 0).all()
    assert 0 < corrected[0] < corrected[-1] < 1
    # Computed by hand: 0.5 log 0.9 - 0.3 log 0.1 - 1.
    one = correct(torch.tensor([0.9, 0.9]), torch.tensor([0, 1]))
    assert one.tolist() == pytest.approx([1 / (1 + 2.718281828 ** (0.36190)), 0.9], abs=1e-4)


def test_recalibration_changes_only_reported_probabilities_not_thresholds():
    emissions, mask = torch.randn(8, 6, 5) * 2, torch.ones(8, 6, dtype=torch.bool)
    plain, corrected = (
        make(vocabulary_of(SPANS), entity_thresholds={"X": 0.4}, recalibration=numbers).float()
        for numbers in (None, COEFFICIENTS)
    )
    extras = Extras(candidates=0.05)
    before, after = (head.predict(emissions, mask, extras) for head in (plain, corrected))
    assert torch.equal(before["predicted_tags"], after["predicted_tags"])
    assert torch.equal(before["candidate_labels"], after["candidate_labels"])
    is_x = before["predicted_tags"] == SPANS.index("B-X")
    old, new = (each["entity_probabilities"] for each in (before, after))
    assert is_x.sum() > 3
    assert (new[is_x] < 0.4).any()
    wanted = corrected.recalibration(old[is_x], torch.zeros(int(is_x.sum()), dtype=torch.int64))
    torch.testing.assert_close(new[is_x], wanted)
    assert torch.equal(new[~is_x], old[~is_x])
    is_x = (before["candidate_labels"] == 0) & (before["candidate_lengths"] > 0)
    assert (after["candidate_probabilities"] != before["candidate_probabilities"])[is_x].all()
