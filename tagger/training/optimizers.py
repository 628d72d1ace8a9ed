"""Optimizers, and a moving average of the weights."""

import re
from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage
from allennlp.training.optimizers import Optimizer, make_parameter_groups

from tagger.common.ranges import check_number, check_shares

#: Options for a fused update in one pass over memory, on CPUs since torch 2.5.
FUSED: Dict[str, Any] = (
    {"fused": True} if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 5) else {}
)


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
        check_adam(betas, eps, weight_decay)
        groups = make_parameter_groups(model_parameters, parameter_groups)
        options: Dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "amsgrad": amsgrad}
        super().__init__(groups, **{**options, "weight_decay": weight_decay, **FUSED})


def check_adam(betas: Tuple[float, float], eps: float, weight_decay: float) -> None:
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
