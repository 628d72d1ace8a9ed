import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training.optimizers import Optimizer

import tagger.training  # noqa: F401


def optimized(name, **options):
    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 3)
    optimizer = Optimizer.from_params(
        Params({"type": name, "lr": 0.1, **options}),
        model_parameters=list(layer.named_parameters()),
    )
    for _ in range(5):
        optimizer.zero_grad()
        layer(torch.ones(2, 5)).pow(2).sum().backward()
        optimizer.step()
    return layer.weight


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.1},
        {"betas": [0.5, 0.9]},
        {"parameter_groups": [[["bias"], {"lr": 1}]]},
    ],
)
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_fused_optimizers_make_the_steps_of_allennlps(name, options):
    expected = optimized(name, **options)
    torch.testing.assert_close(optimized(f"fused_{name}", **options), expected)
    assert not torch.equal(expected, optimized("sgd"))


def test_an_expression_that_matches_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="'biases', which matches no trained parameter"):
        optimized("fused_adamw", parameter_groups=[[["weight", "biases"], {"lr": 1}]])
