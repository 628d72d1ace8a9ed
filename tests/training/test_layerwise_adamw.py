import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training.optimizers import Optimizer
from torch.nn import Embedding, LayerNorm, Linear, Module, ModuleDict, ModuleList

import tagger.training  # noqa: F401


class Tagger(Module):
    """A transformer of three layers under a linear one."""

    def __init__(self):
        super().__init__()
        layers = ModuleList(ModuleDict({"dense": Linear(2, 2)}) for _ in range(3))
        parts = {"embeddings": Embedding(3, 2), "layer": layers, "norm": LayerNorm(2)}
        self.transformer_model = ModuleDict(parts)
        self.projection = Linear(2, 3)


def made(model, **options):
    parameters = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    params = Params({"type": "layerwise_adamw", **options})
    return Optimizer.from_params(params, model_parameters=parameters)


def settings(model, **options):
    """The learning rate and the weight decay of each parameter."""
    groups = made(model, **options).param_groups
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        names[id(each)]: (group["lr"], group["weight_decay"])
        for group in groups
        for each in group["params"]
    }


RATES = {"lr": 1.0, "transformer_lr": 0.1, "layer_decay": 0.5, "weight_decay": 0.3}


def test_rates_fall_from_layer_to_layer():
    decays = {name: decay for name, (_, decay) in settings(Tagger(), **RATES).items()}
    # Only matrices decay.
    assert decays == {name: 0.3 * (p.dim() == 2) for name, p in Tagger().named_parameters()}
    rates = {name: rate for name, (rate, _) in settings(Tagger(), **RATES).items()}
    assert len(rates) == len(list(Tagger().parameters()))
    assert rates["projection.weight"] == rates["projection.bias"] == 1
    assert rates["transformer_model.norm.weight"] == 0.1
    for layer, rate in ((2, 0.1), (1, 0.05), (0, 0.025)):
        assert rates[f"transformer_model.layer.{layer}.dense.weight"] == pytest.approx(rate)
    assert rates["transformer_model.embeddings.weight"] == pytest.approx(0.0125)


def test_frozen_parameters_are_left_out():
    model = Tagger()
    model.transformer_model["embeddings"].requires_grad_(False)
    model.transformer_model["layer"][0].requires_grad_(False)
    rates = settings(model, **RATES)
    assert rates["transformer_model.layer.1.dense.bias"] == (0.05, 0)
    assert len(rates) == len(list(model.parameters())) - 3


def test_a_step_is_that_of_adamw_at_the_rate_of_each_layer():
    model, expected = Tagger(), Tagger()
    expected.load_state_dict(model.state_dict())
    optimizer = made(model, **RATES)
    groups = [
        {"params": [dict(expected.named_parameters())[name]], "lr": rate, "weight_decay": decay}
        for name, (rate, decay) in settings(model, **RATES).items()
    ]
    theirs = torch.optim.AdamW(groups)
    for each, step in ((model, optimizer), (expected, theirs)):
        for number, parameter in enumerate(each.parameters(), start=1):
            parameter.grad = torch.full_like(parameter, number)
        step.step()
    for ours, wanted in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(ours, wanted)


def test_an_expression_that_matches_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="'roberta', which matches no trained"):
        made(Tagger(), transformer="roberta")
