"""Averages of a model's parameters over training steps."""

from typing import Any, Dict, Iterable, Optional, Tuple

import torch
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage

from tagger.common.ranges import check_number


@MovingAverage.register("fused_exponential")
class FusedExponentialMovingAverage(ExponentialMovingAverage):
    """AllenNLP's `exponential` in one operation for all parameters, which a recovered run continues.

    AllenNLP's goes on from the parameters that were saved, which are no longer those of the model.

    Args:
        parameters: The parameters by name; supplied by the trainer in a config.
        decay: The weight of the average before a step; the rest is the weight of the parameters.
        numerator: With `denominator`, how slowly the decay rises in the first steps.
        denominator: With `numerator`; larger ones let the first steps count more.

    Raises:
        ConfigurationError: If `decay` is not in [0, 1), or the others are not above 0.
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
        """Moves the averages towards the parameters.

        Args:
            num_updates: How many steps there have been, so that the first count less.
        """
        decay = self._decay
        if num_updates is not None:
            ramp = (self._numerator + num_updates) / (self._denominator + num_updates)
            decay = min(decay, ramp)
        averages = [self._shadows[name] for name, _ in self._parameters]
        torch._foreach_lerp_(averages, [each.data for _, each in self._parameters], 1 - decay)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the averages."""
        return {"shadows": self._shadows}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Takes the averages of a saved state, and leaves the parameters alone."""
        for name, average in state_dict["shadows"].items():
            self._shadows[name].copy_(average)
