"""The replacement for pytorch-crf has its interface and the numbers of our other class."""

import re

import pytest
import torch

from tagger.modules import ConditionalRandomField, TagWeighting
from tagger.modules.torchcrf import CRF

MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], dtype=torch.uint8)


def batch():
    generator = torch.Generator().manual_seed(3)
    emissions = torch.randn(3, 4, 5, generator=generator)
    return emissions, torch.randint(5, (3, 4), generator=generator)


def twins(weighting=None):
    """Our two classes with the same parameters."""
    crf = CRF(5, batch_first=True, weighting=weighting)
    other = ConditionalRandomField(5, weighting=weighting)
    other.load_state_dict({**other.state_dict(), **crf.state_dict()})
    return crf, other


def chain_weighting():
    return TagWeighting.by_name("chain")(tag_weights=[2.0, 0.5, 1.5, 3.0, 0.25])


@pytest.mark.parametrize("weighting", [None, chain_weighting()], ids=["plain", "weighted"])
def test_values_and_paths_equal_those_of_our_other_class(weighting):
    crf, other = twins(weighting)
    emissions, tags = batch()
    expected = other.log_likelihood(emissions, tags, MASK.bool())
    for reduction, value in {
        "none": expected,
        "sum": expected.sum(),
        "mean": expected.mean(),
        "token_mean": expected.sum() / 8,
    }.items():
        torch.testing.assert_close(crf(emissions, tags, MASK, reduction=reduction), value)
    torch.testing.assert_close(crf(emissions, tags, MASK), expected.sum())
    paths = [path for path, _ in other.viterbi_tags(emissions, MASK.bool())]
    assert crf.decode(emissions, MASK) == paths
    torch.testing.assert_close(
        crf.marginals(emissions, MASK), other.marginals(emissions, MASK.bool())
    )


def test_tokens_first_is_the_default():
    crf, _ = twins()
    emissions, tags = batch()
    tokens_first = CRF(5)
    tokens_first.load_state_dict(crf.state_dict())
    args = emissions.transpose(0, 1), tags.transpose(0, 1), MASK.transpose(0, 1)
    torch.testing.assert_close(tokens_first(*args), crf(emissions, tags, MASK))
    assert tokens_first.decode(args[0], args[2]) == crf.decode(emissions, MASK)
    torch.testing.assert_close(
        tokens_first.marginals(args[0]).transpose(0, 1), crf.marginals(emissions)
    )


def test_parameters_have_pytorch_crfs_names_and_initial_range():
    torch.manual_seed(0)
    parameters = dict(CRF(40).named_parameters())
    assert list(parameters) == ["start_transitions", "end_transitions", "transitions"]
    values = torch.cat([each.detach().flatten() for each in parameters.values()])
    assert -0.1 <= values.min() < -0.09
    assert 0.09 < values.max() <= 0.1
    assert list(CRF(2).state_dict()) == list(parameters)


def test_every_parameter_gets_a_gradient():
    crf, _ = twins(chain_weighting())
    emissions, tags = batch()
    emissions.requires_grad_()
    (-crf(emissions, tags, MASK, reduction="mean")).backward()
    for each in (emissions, *crf.parameters()):
        assert each.grad.abs().sum() > 0


CRF_OF_5 = CRF(5)
EMISSIONS, TAGS = batch()
NO_TOKEN = (
    "`mask` has a sequence without a real token; drop such rows, or make at least one token real "
    "(pytorch-crf: mask of the first timestep must all be on)"
)
SIZES = "the first two dimensions of emissions and tags must match, got (3, 4) and (4, 3)"


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (CRF, {"num_tags": 0}, "invalid number of tags: 0; `num_tags` must be at least 1"),
        (
            CRF,
            {"num_tags": 3, "weighting": chain_weighting()},
            "`weighting` must have one weight for each of the 3 tags; got 5",
        ),
        (
            CRF_OF_5,
            {"emissions": EMISSIONS, "tags": TAGS, "reduction": "max"},
            "invalid reduction: max; expected none, sum, mean, token_mean",
        ),
        (CRF_OF_5, {"emissions": EMISSIONS, "tags": TAGS.T}, SIZES),
        (CRF_OF_5.decode, {"emissions": EMISSIONS[0]}, "emissions must have dimension of 3, got 2"),
        (
            CRF(4).decode,
            {"emissions": EMISSIONS},
            "expected last dimension of emissions is 4, got 5",
        ),
        (CRF_OF_5.decode, {"emissions": EMISSIONS, "mask": torch.zeros(3, 4)}, NO_TOKEN),
    ],
)
def test_messages(call, arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(**arguments)
