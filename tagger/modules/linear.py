"""A linear layer in which the result of a row does not depend on the number of rows."""

from typing import Optional

import torch

# With fewer rows, MKL multiplies differently on processors that are not Intel's.
_LEAST_ROWS = 32


class Linear(torch.nn.Linear):
    """PyTorch's linear layer, computed by `linear`."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Maps the last dimension of (..., D) to (..., E)."""
        return linear(inputs, self.weight, self.bias)


def linear(
    inputs: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """Like PyTorch's, but a row's bits do not depend on other rows, on a CPU without gradients.

    Maps (..., D) to (..., E); `weight` is (E, D).
    """
    rows = inputs.reshape(-1, weight.size(1))
    num_missing = _LEAST_ROWS - len(rows)
    if num_missing <= 0 or inputs.device.type != "cpu" or torch.is_grad_enabled():
        return torch.nn.functional.linear(inputs, weight, bias)
    padded = torch.nn.functional.pad(rows, (0, 0, 0, num_missing))
    results = torch.nn.functional.linear(padded, weight, bias)[: len(rows)]
    return results.view(*inputs.shape[:-1], len(weight))
