import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training.moving_average import MovingAverage
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
    [{}, {"weight_decay": 0.1}, {"betas": [0.5, 0.9]}, {"parameter_groups": [[["bias"], {"lr": 1}]]}],
)  # fmt: skip
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_fused_optimizers_make_the_steps_of_allennlps(name, options):
    expected = optimized(name, **options)
    torch.testing.assert_close(optimized(f"fused_{name}", **options), expected)
    assert not torch.equal(expected, optimized("sgd"))


def test_an_expression_that_matches_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="'biases', which matches no trained parameter"):
        optimized("fused_adamw", parameter_groups=[[["weight", "biases"], {"lr": 1}]])


def layers():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))


def average_of(model, name):
    return MovingAverage.from_params(
        Params({"type": name, "decay": 0.9}), parameters=model.named_parameters()
    )


def step(model, average, number=None):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    average.apply(number)


@pytest.mark.parametrize("numbers", [[None] * 5, range(5)], ids=["constant", "growing"])
def test_it_averages_as_allennlps(numbers):
    averaged = []
    for name in ("exponential", "fused_exponential"):
        model = layers()
        average = average_of(model, name)
        for number in numbers:
            step(model, average, number)
        average.assign_average_value()
        averaged.append(torch.nn.utils.parameters_to_vector(model.parameters()))
    torch.testing.assert_close(averaged[1], averaged[0])


def test_a_recovered_average_follows_the_model():
    model = layers()
    average = average_of(model, "fused_exponential")
    step(model, average)
    saved, recovered_model = average.state_dict(), layers()
    recovered_model.load_state_dict(model.state_dict())
    recovered = average_of(recovered_model, "fused_exponential")
    recovered.load_state_dict(saved)
    for each in ((model, average), (recovered_model, recovered)):
        torch.manual_seed(1)
        step(*each)
        each[1].assign_average_value()
    for expected, parameter in zip(model.parameters(), recovered_model.parameters()):
        assert torch.equal(parameter, expected)
