"""Dropout that costs little on a CPU."""

import torch

#: Random numbers have 16 bits, so probabilities are rounded to multiples of this.
STEP = 2.0**-16


class Dropout(torch.nn.Dropout):
    """PyTorch's dropout, with several random numbers from one draw on a CPU.

    PyTorch draws a number of 32 bits for each element, which takes longer than the rest of a small
    layer.
    """

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Returns `inputs`, in training with dropped elements and the others scaled up."""
        return dropout(inputs, self.p) if self.training else inputs


def dropout(inputs: torch.Tensor, rate: float) -> torch.Tensor:
    """Sets each element to 0 with probability `rate`, and divides the others by `1 - rate`.

    On a CPU, the probability is rounded to a multiple of `STEP`.

    Args:
        inputs: A floating-point tensor of any shape.
        rate: The probability, 0 to 1.

    Returns:
        A tensor of the shape and type of `inputs`.
    """
    num_dropped = round(rate / STEP)
    if inputs.device.type != "cpu" or not 0 < num_dropped < round(1 / STEP):
        return torch.nn.functional.dropout(inputs, rate)
    # Four numbers of 16 bits from each of 64.
    draws = torch.empty(-(-inputs.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = draws.view(torch.int16)[: inputs.numel()].view(inputs.shape)
    kept = (numbers >= num_dropped - 2**15).to(inputs.dtype)
    return inputs * kept.mul_(1 / (1 - num_dropped * STEP))
