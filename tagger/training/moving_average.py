"""Averages of a model's parameters over training steps."""

from typing import Any, Dict, Optional

import torch
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage


@MovingAverage.register("fused_exponential")
class FusedExponentialMovingAverage(ExponentialMovingAverage):
    """AllenNLP's `exponential` in one operation for all parameters, which a recovered run continues.

    AllenNLP's goes on from the parameters that were saved, which are no longer those of the model.

    Args:
        **kwargs: The arguments of AllenNLP's `exponential`: `decay`, `numerator`, `denominator`.
    """

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
