"""What the CRF's head learns of a teacher."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tagger.linear_chain import chain_cross_entropy, chain_marginals, log_likelihood
from tagger.modules import CrfHead, SoftmaxHead
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


def test_the_loss_mixes_gold_tags_with_the_teacher_which_is_alone_where_none_is_known(vocab):
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


def test_only_a_distillation_weight_needs_a_teacher(vocab):
    assert not make(vocab).needs_teacher
    assert make(vocab, distillation_weight=0.0).needs_teacher


def test_mistakes_are_named(vocab):
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
