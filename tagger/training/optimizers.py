"""Optimizers, and a moving average of the weights."""

import re
from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage
from allennlp.training.optimizers import Optimizer, make_parameter_groups

from tagger.common.ranges import check_number, check_shares

#: Options for a fused update in one pass over memory, on CPUs since torch 2.5.
_FUSED: Dict[str, Any] = (
    {"fused": True} if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 5) else {}
)
#: A layer's number is the first one in its parameters' names: `encoder.layer.3.output.dense.bias`.
_LAYER = re.compile(r"\.(\d+)\.")


class _Fused(Optimizer):
    """A mixin for PyTorch optimizers that updates each parameter in one pass over its memory."""

    def __init__(
        self,
        model_parameters: List[Tuple[str, torch.nn.Parameter]],
        parameter_groups: Optional[List[Tuple[List[str], Dict[str, Any]]]] = None,
        lr: float = 0.001,
        betas: Tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
    ) -> None:
        _check_expressions(model_parameters, parameter_groups or [])
        check_shares(lr=lr)  # larger rates diverge
        _check_adam(betas, eps, weight_decay)
        groups = make_parameter_groups(model_parameters, parameter_groups)
        options: Dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "amsgrad": amsgrad}
        super().__init__(groups, **{**options, "weight_decay": weight_decay, **_FUSED})


def _check_adam(betas: Tuple[float, float], eps: float, weight_decay: float) -> None:
    """Raises a `ConfigurationError` unless Adam's other arguments are in their ranges."""
    for place, beta in enumerate(betas):
        check_number(f"betas[{place}]", beta, 0 <= beta < 1, "at least 0 and below 1")
    check_number("eps", eps, eps >= 0, "at least 0")
    check_number("weight_decay", weight_decay, 0 <= weight_decay <= 1, "from 0 to 1")


def _check_expressions(
    parameters: List[Tuple[str, torch.nn.Parameter]], groups: List[Tuple[List[str], Dict[str, Any]]]
) -> None:
    """Rejects an expression that matches nothing, where AllenNLP would only warn."""
    for expression in (each for expressions, _ in groups for each in expressions):
        if not any(re.search(expression, name) for name, _ in parameters):
            parts = sorted({".".join(name.split(".")[:2]) for name, _ in parameters})
            raise ConfigurationError(
                f"`parameter_groups` has the expression {expression!r}, which matches no trained "
                f"parameter; they are in {', '.join(parts)}; correct or remove it"
            )


@Optimizer.register("fused_adam")
class FusedAdam(_Fused, torch.optim.Adam):
    """Like AllenNLP's `adam`, but updates each parameter in a single pass over its memory.

    On a CPU, `adam` makes about ten passes. With a large vocabulary, these take a third of a training
    step. Before torch 2.5, which has no fused pass for CPUs, the two optimizers are the same.

    Args:
        model_parameters: The parameters by name; supplied by the trainer in a config.
        parameter_groups: Lists of regular expressions, each with options for the matching parameters.
            An expression that matches nothing is an error.
        lr: The learning rate.
        betas: The decay rates of the running means of the gradient and of its square.
        eps: A small number added to the denominator.
        weight_decay: The factor of an L2 penalty.
        amsgrad: Whether to divide by the largest mean square so far.
    """


@Optimizer.register("fused_adamw")
class FusedAdamW(_Fused, torch.optim.AdamW):
    """Like AllenNLP's `adamw`, but updates each parameter in a single pass over its memory.

    Args:
        model_parameters: The parameters by name; supplied by the trainer in a config.
        parameter_groups: As in `FusedAdam`.
        weight_decay: Each step shrinks the parameters by this share, times the learning rate.
        **kwargs: The other arguments of `FusedAdam`.
    """

    def __init__(
        self,
        model_parameters: List[Tuple[str, torch.nn.Parameter]],
        weight_decay: float = 0.01,
        **kwargs: Any,
    ) -> None:
        super().__init__(model_parameters, weight_decay=weight_decay, **kwargs)


@Optimizer.register("layerwise_adamw")
class LayerwiseAdamW(Optimizer, torch.optim.AdamW):
    """AdamW with layer-wise learning rates: the lower a transformer layer, the lower its rate.

    The rate of layer l of n is `transformer_lr * layer_decay ** (n - l)`; the embeddings count as layer
    0 (Howard & Ruder 2018, section 3.2; Clark et al. 2020, appendix A). Vectors, that is, biases and the
    weights of norms, have no weight decay. Schedulers scale all rates by the same factor.

    Args:
        model_parameters: The trained parameters by name; supplied by the trainer in a config.
        lr: The learning rate of everything outside the transformer.
        transformer_lr: The learning rate of the transformer's last layer.
        layer_decay: The ratio between the rate of a layer and that of the layer above it, above 0, at
            most 1.
        weight_decay: Each step shrinks matrices by this share, times their learning rate.
        transformer: A regular expression that finds the prefix of the transformer's parameter names;
            their names within the transformer follow it.
        betas: The decay rates of the running means of the gradient and of its square.
        eps: A small number added to the denominator.
    """

    def __init__(
        self,
        model_parameters: List[Tuple[str, torch.nn.Parameter]],
        lr: float = 1e-3,
        transformer_lr: float = 5e-5,
        layer_decay: float = 1.0,
        weight_decay: float = 0.01,
        transformer: str = r"\btransformer_model\.",
        betas: Tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        check_shares(lr=lr, transformer_lr=transformer_lr, layer_decay=layer_decay)
        _check_adam(betas, eps, weight_decay)
        heights = layer_heights([name for name, _ in model_parameters], transformer)
        # Keys are the learning rate and the weight decay.
        groups: Dict[Tuple[float, float], List[torch.nn.Parameter]] = {}
        for name, parameter in model_parameters:
            rate = transformer_lr * layer_decay ** -heights[name] if name in heights else lr
            decay = weight_decay if parameter.dim() > 1 else 0.0
            groups.setdefault((rate, decay), []).append(parameter)
        by_rate: List[Dict[str, Any]] = [
            {"params": parameters, "lr": rate, "weight_decay": decay}
            for (rate, decay), parameters in groups.items()
        ]
        super().__init__(by_rate, lr=lr, betas=betas, eps=eps, **_FUSED)


def layer_heights(names: List[str], transformer: str) -> Dict[str, int]:
    """Returns each parameter's layer, counted down from the last: 0 for that and above, then -1, -2...

    Parameters before the first layer form a layer below it. `names` are in order of definition.
    """
    # For each parameter, the start of its name within the transformer.
    begins = {name: found.end() for name in names if (found := re.search(transformer, name))}
    if not begins:
        parts = sorted({".".join(name.split(".")[:3]) for name in names})
        raise ConfigurationError(
            f"`transformer` is {transformer!r}, which matches no trained parameter; they are in "
            f"{', '.join(parts)}; correct the expression, or use `fused_adamw` where no transformer "
            f"is trained"
        )
    numbers = {name: _LAYER.search(name, begin - 1) for name, begin in begins.items()}
    layers = {name: int(number[1]) for name, number in numbers.items() if number}
    first, last = min(layers.values(), default=0), max(layers.values(), default=0)
    heights: Dict[str, int] = {}
    for name in numbers:
        is_before = bool(layers) and not heights.keys() & layers.keys()
        heights[name] = layers.get(name, first - 1 if is_before else last) - last
    return heights


@MovingAverage.register("fused_exponential")
class FusedExponentialMovingAverage(ExponentialMovingAverage):
    """Like AllenNLP's `exponential`, but updates all parameters at once and can be recovered.

    After `--recover`, AllenNLP's would average the saved parameters, which the model no longer uses.

    Args:
        parameters: The parameters by name; supplied by the trainer in a config.
        decay: The weight of the old average in each step; the parameters get the rest.
        numerator: Together with `denominator`, how slowly the decay rises in the first steps.
        denominator: See `numerator`; larger values give the first steps more weight.
    """

    def __init__(
        self,
        parameters: Iterable[Tuple[str, torch.Tensor]],
        decay: float = 0.9999,
        numerator: float = 1.0,
        denominator: float = 10.0,
    ) -> None:
        check_number("decay", decay, 0 <= decay < 1, "at least 0 and below 1")
        check_number("numerator", numerator, numerator > 0, "above 0")
        check_number("denominator", denominator, denominator > 0, "above 0")
        super().__init__(parameters, decay, numerator, denominator)

    def apply(self, num_updates: Optional[int] = None) -> None:
        """Moves the averages towards the parameters."""
        decay = self._decay
        if num_updates is not None:
            decay = min(decay, (self._numerator + num_updates) / (self._denominator + num_updates))
        averages = [self._shadows[name] for name, _ in self._parameters]
        torch._foreach_lerp_(averages, [each.data for _, each in self._parameters], 1 - decay)

    def state_dict(self) -> Dict[str, Any]:
        return {"shadows": self._shadows}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        for name, average in state_dict["shadows"].items():
            self._shadows[name].copy_(average)
