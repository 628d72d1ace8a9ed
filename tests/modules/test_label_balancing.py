"""Weights by counts: normalised, and with a `mu` computed from the training data."""

import logging

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Instance, Token
from allennlp.data.fields import MultiLabelField, TextField

from tagger.common.training_counts import LabelCounts, count_labels
from tagger.data import LabelSetsField
from tagger.modules import MultiLabelLoss
from tagger.modules.label_balancing import normalise_weights
from tests.modules.losses import batch_of, make
from tests.spans.tagged import vocabulary_of

#: A has 3 items, B 2, C 1: the `r` of their labels are 1, 1, 2/5, 3/5, 1/3, 2/3.
SETS = [["A"], ["A", "B"], ["A", "B"], ["C"]]
#: r: 1, (2/5, 3/5) twice, 1: the mean is 4 / 6, the median 3/5.
EXPECTED = (4 / 6 + 3 / 5) / 2


def auto_loss(name="rebalanced_focal", **settings):
    params = Params({"type": name, "mu": "auto", **settings})
    vocab = vocabulary_of(["A", "B", "C"])
    return MultiLabelLoss.from_params(params, vocab=vocab, label_namespace="labels")


def counts_of(sets):
    text = TextField([Token("word")] * (len(sets) + 1))
    field = LabelSetsField([*sets, ["?"]], text, unknown_tag="?")
    return count_labels([Instance({"tokens": text, "labels": field})])


def supply(loss, counts):
    for module in loss.modules():
        if hasattr(module, "use_training_counts"):
            module.use_training_counts(counts)


@pytest.mark.parametrize("name", ["rebalanced_focal", "distribution_balanced"])
def test_an_automatic_mu_is_the_mean_of_mean_and_median_logged_and_saved(name, caplog):
    loss = auto_loss(name)
    with pytest.raises(RuntimeError, match="the training labels have not been counted"):
        loss(torch.zeros(1, 3), torch.ones(1, 3))
    with caplog.at_level(logging.INFO, "tagger"):
        supply(loss, counts_of(SETS))
    assert (
        f"`mu` is {EXPECTED:.4f}: the mean of the mean, 0.6667, and the median, 0.6000"
        in caplog.text
    )
    again = auto_loss(name)
    again.load_state_dict(loss.state_dict())
    given = MultiLabelLoss.by_name(name)(mu=EXPECTED, label_counts=[3, 2, 1], num_items=4)
    assert "weighting.mu" not in given.state_dict()
    batch = torch.randn(5, 3), torch.randint(0, 2, (5, 3))
    for each in (loss, again):
        torch.testing.assert_close(each(*batch), given(*batch))


def test_sets_of_documents_and_of_workers_add_up():
    documents = [Instance({"labels": MultiLabelField(labels, "labels")}) for labels in SETS]
    halves = count_labels(documents[:2]) + count_labels(documents[2:])
    assert halves.label_sets == counts_of(SETS).label_sets == count_labels(documents).label_sets
    assert (LabelCounts() + halves).num_items["labels"] == 4


@pytest.mark.parametrize("name", ["rebalanced_focal", "class_balanced_negative_tolerant"])
@pytest.mark.parametrize("norm", ["by_instance", "by_batch"])
def test_normalised_weights_are_at_most_1_and_padding_does_not_matter(name, norm):
    scores, gold, mask = batch_of(MultiLabelLoss)
    plain = make(MultiLabelLoss, name)
    loss = make(MultiLabelLoss, name, weight_norm=norm)
    counts = plain.counts.label_counts
    known = mask.unsqueeze(-1) & (gold >= 0)
    weights = plain.weighting(gold > 0, counts).expand(known.shape)
    largest = torch.stack(
        [
            torch.stack([w[k].max() if k.any() else torch.tensor(1.0) for w, k in zip(*row)])
            for row in zip(weights, known)
        ]
    )
    if norm == "by_batch":
        largest = weights[known].max().expand(largest.shape)
    torch.testing.assert_close(loss(scores, gold, mask) * largest, plain(scores, gold, mask))
    dirty = gold.masked_fill(~mask.unsqueeze(-1), 1)
    torch.testing.assert_close(loss(scores, dirty, mask), loss(scores, gold, mask))
    normalised = normalise_weights(weights, known, norm)[known]
    assert normalised.max() == 1
    assert (normalised > 0).all()
