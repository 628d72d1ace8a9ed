"""A weight of 2 equals the instance twice in the batch's loss, for every head and every loss."""

import copy

import pytest
import torch
from allennlp.common import Params

from tagger.common.training_counts import LabelCounts
from tagger.models.tagging_model import LOSS_REDUCTIONS, TaggingModel
from tagger.modules import MultiLabelLoss, TaggingHead, TagWeighting, TokenLoss
from tagger.modules.loss_formulas import weighted_mean
from tests.spans.tagged import vocabulary_of

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
WEIGHTS = {"tag_weights": [1.0, 2.0, 0.5, 3.0, 1.5]}
#: The first sentence counts twice, the third three times, the last not at all.
TIMES = [2, 1, 3, 0]
CASES = [
    *({"type": head} for head in TaggingHead.list_available()),
    *({"type": "softmax", "loss": {"type": name}} for name in TokenLoss.list_available()),
    {"type": "softmax", "loss": {"type": "dice", "of_each_token": True, **WEIGHTS}},
    {"type": "softmax", "loss": {"type": "dice", "alpha": 0.3, **WEIGHTS}},
    *({"type": "sigmoid", "loss": {"type": name}} for name in MultiLabelLoss.list_available()),
    *(
        {"type": "sigmoid", "loss": {"type": name, "weight_norm": "by_batch", **more}}
        for name, more in (
            ("distribution_balanced", {}),
            ("class_balanced_focal", {"mode": "average_w"}),
            ("class_balanced_negative_tolerant", {"mode": "average_n"}),
        )
    ),
    *(
        {
            "type": "crf",
            "weighting": {
                "type": name,
                **({"missing": 1.0} if name == "softmax_margin" else WEIGHTS),
            },
        }
        for name in TagWeighting.list_available()
    ),
]


class GivenEmissions(TaggingModel):
    """A tagger with emissions that come with its tokens."""

    uses_documents = False

    def emissions(self, tokens, mask, rows=None):
        return tokens["given"]["values"] if rows is None else rows.split(tokens["given"]["values"])


def tagger_of(config, reduction):
    # Plain labels for tokens that may have several.
    names = TAGS if config["type"] != "sigmoid" else ["A", "B", "C", "D", "E"]
    vocab = vocabulary_of(names)
    encoding = None if config["type"] == "sigmoid" else "BIO"
    model = GivenEmissions(vocab, encoding, loss_reduction=reduction, training_metrics=False)
    torch.manual_seed(3)
    model.head = TaggingHead.from_params(
        Params(copy.deepcopy(config)), vocab=vocab, label_namespace="labels", tag_encoding=encoding
    )
    counts = LabelCounts({"labels": dict(zip(names, (40, 9, 7, 3, 2)))}, {"labels": 70})
    for module in model.modules():
        if hasattr(module, "use_training_counts"):
            module.use_training_counts(counts)
    return model.train()


def batch_of(head, seed=1):
    generator = torch.Generator().manual_seed(seed)
    emissions = 2 * torch.randn(4, 5, len(TAGS), generator=generator)
    gold = torch.tensor([[0, 1, 2, 0, 0], [3, 4, 0, 0, 0], [0, -1, 1, 3, 0], [0, 0, 3, 0, 0]])
    if head == "sigmoid":
        # 1, 0 or -1, mostly 0
        first, second = (torch.rand(emissions.shape, generator=generator) for _ in range(2))
        gold = (first < 0.2).long() - (second < 0.2).long()
    if head == "label_chains":
        gold = torch.nn.functional.one_hot(gold.clamp(min=0), len(TAGS)).bool()
    mask = torch.arange(5) < torch.tensor([[5], [2], [4], [3]])
    return emissions, gold, mask


def loss_of(model, emissions, gold, mask, weights=None, **others):
    tokens = {"given": {"values": emissions, "mask": mask, "token_ids": mask.long()}}
    return model(tokens, gold, weights=weights, **others)["loss"]


@pytest.mark.parametrize("reduction", LOSS_REDUCTIONS)
@pytest.mark.parametrize("config", CASES, ids=str)
def test_a_weight_of_2_equals_the_sentence_twice(config, reduction):
    for seed in range(4):
        check_weights(config, reduction, seed)


def check_weights(config, reduction, seed):
    model = tagger_of(config, reduction)
    emissions, gold, mask = batch_of(config["type"], seed)
    emissions.requires_grad_()
    weighted = loss_of(model, emissions, gold, mask, torch.tensor(TIMES).float().unsqueeze(1))
    (gradient,) = torch.autograd.grad(weighted, emissions)
    chosen = [row for row, times in enumerate(TIMES) for _ in range(times)]
    repeated = loss_of(model, emissions[chosen], gold[chosen], mask[chosen])
    (expected,) = torch.autograd.grad(repeated, emissions)
    torch.testing.assert_close(weighted, repeated)
    torch.testing.assert_close(gradient, expected)
    plain = loss_of(model, emissions, gold, mask)
    assert not torch.isclose(weighted, plain)
    ones = torch.ones(4, 1)
    torch.testing.assert_close(loss_of(model, emissions, gold, mask, ones), plain)
    assert loss_of(model, emissions, gold, mask, 0 * ones) == 0


@pytest.mark.parametrize("reduction", LOSS_REDUCTIONS)
def test_sentences_of_documents_have_separate_weights(reduction):
    model = tagger_of({"type": "crf"}, reduction)
    emissions, gold, mask = batch_of("crf")
    # The first document has sentences of 3 and 2 tokens; the others are one sentence each.
    lengths = torch.tensor([[3, 2], [2, 0], [4, 0], [3, 0]])
    weights = torch.tensor([[2.0, 0.0], [0.0, 7.0], [0.0, 7.0], [1.0, 7.0]])
    actual = loss_of(model, emissions, gold, mask, weights, sentence_lengths=lengths)
    rows = emissions[[0, 0, 3]], gold[[0, 0, 3]], torch.arange(5) < 3
    expected = loss_of(model, *rows[:2], rows[2].expand(3, 5))
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("reduction", LOSS_REDUCTIONS)
@pytest.mark.parametrize("head", ["crf", "label_chains"])
def test_a_sentence_that_weighs_0_may_be_impossible(head, reduction):
    emissions, gold, mask = batch_of(head)
    model = tagger_of({"type": head, "constrain_training": True}, reduction)
    # The second sentence begins with `B-PER I-LOC`.
    gold[1, :2] = torch.tensor([1, 4]) if head == "crf" else torch.eye(len(TAGS))[[1, 4]].bool()
    emissions.requires_grad_()
    with pytest.raises(ValueError, match="forbid the gold tags of row 1"):
        loss_of(model, emissions, gold, mask, torch.ones(4, 1))
    loss = loss_of(model, emissions, gold, mask, torch.tensor([[1.0], [0.0], [2.0], [1.0]]))
    (gradient,) = torch.autograd.grad(loss, emissions)
    assert loss.isfinite()
    assert gradient.isfinite().all()
    assert (gradient[1] == 0).all()


def test_a_mean_by_weights():
    losses = torch.tensor([1.0, 3.0, 5.0])
    assert weighted_mean(losses, torch.tensor([2.0, 1.0, 0.0])) == losses[[0, 0, 1]].mean()
    assert weighted_mean(losses, None) == 3
    assert weighted_mean(losses, torch.zeros(3)) == 0
