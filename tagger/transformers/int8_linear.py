"""Linear layers that multiply matrices of 8-bit integers, for frozen transformers.

Each row of the input is scaled by its largest absolute value and rounded to -127, ..., 127. The same is
done once for each row of the weights. Their products are exact sums of integers, which are then scaled
back. The result of a row does not depend on the other rows of its batch.

Letters: `N` rows, `I` inputs, `O` outputs.
"""

import copy
from typing import Any, Tuple

import numpy as np
import torch

from tagger.linear_chain.kernels.compilation import kernel
from tagger.transformers.windows import longest_window

#: Levels above zero, and below.
LEVELS = 127
# Rows with smaller values count as zero, because dividing by these gives infinity.
_SMALLEST = np.float32(1e-30)
# If states would change by more than this share of their deviation, a model is not rounded.
_LARGEST_CHANGE = 0.25


def with_int8_matrices(model: Any) -> Any:
    """Returns a transformer with linear layers that multiply 8-bit integers; it shares all weights.

    The model itself is returned if the hidden states of a sample change by more than a quarter of their
    standard deviation, since rounding loses the other values of a row that has a few very large ones.
    """
    weights = [*model.parameters(), *model.buffers()]
    rounded = copy.deepcopy(model, {id(each): each for each in weights})
    for parent in list(rounded.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is torch.nn.Linear:
                setattr(parent, name, Int8Linear(child))
    # Written so that NaN counts as a large change.
    return rounded if _change(model, rounded) <= _LARGEST_CHANGE else model


class Int8Linear(torch.nn.Module):
    """A linear layer with rounded matrices, on the CPU, without gradients; weights are shared."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        rows, scales = rounded_rows(linear.weight.detach())
        offsets = torch.zeros(len(rows)) if linear.bias is None else linear.bias.detach()
        # (I, O), (O,) and (O,)
        self._columns, self._scales, self._offsets = rows.t().contiguous(), scales, offsets.numpy()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Maps (..., I) of any floating-point type to (..., O) float32."""
        rows, scales = rounded_rows(inputs.reshape(-1, inputs.size(-1)).float())
        sums = torch._int_mm(rows, self._columns)
        _scale_back(sums.numpy(), scales, self._scales, self._offsets)
        return sums.view(torch.float32).view(*inputs.shape[:-1], -1)


def rounded_rows(rows: torch.Tensor) -> Tuple[torch.Tensor, np.ndarray]:
    """Returns rows (N, I) as integers, (N, I) int8, and their scales, (N,) float32."""
    integers = torch.empty(rows.shape, dtype=torch.int8)
    scales = np.empty(len(rows), np.float32)
    _round_rows(rows.contiguous().numpy(), integers.numpy(), scales)
    return integers, scales


@torch.inference_mode()
def _change(model: Any, rounded: Any) -> float:
    """Returns how much the states of a sample change, in the layer where they change most.

    It is the root mean square of a feature's change as a share of its standard deviation, for the median
    feature: a few large features must not hide what happens to the others.
    """
    shape = 4, min(32, longest_window(model.config) or 32)
    sample = torch.randint(
        model.config.vocab_size, shape, generator=torch.Generator().manual_seed(0)
    )
    mask = torch.ones_like(sample)
    before, after = (
        each(input_ids=sample, attention_mask=mask, output_hidden_states=True).hidden_states
        for each in (model, rounded)
    )
    # (D,) for each layer
    changes = [
        (a - b).square().mean((0, 1)).sqrt() / b.flatten(0, 1).std(0) for a, b in zip(after, before)
    ]
    return float(torch.stack(changes).median(1).values.max())


@kernel
def _round_rows(values: np.ndarray, integers: np.ndarray, scales: np.ndarray) -> None:
    bits, scale_bits = values.view(np.int32), scales.view(np.int32)
    for row in range(len(values)):
        # Without their sign, the bits of floats compare as the floats do, and faster.
        largest = np.int32(0)
        for column in range(values.shape[1]):
            largest = max(largest, bits[row, column] & np.int32(0x7FFFFFFF))
        scale_bits[row] = largest
        factor = np.float32(LEVELS) / scales[row] if scales[row] > _SMALLEST else np.float32(0)
        scales[row] /= np.float32(LEVELS)
        for column in range(values.shape[1]):
            integers[row, column] = np.int32(np.rint(values[row, column] * factor))


@kernel
def _scale_back(
    sums: np.ndarray, scales: np.ndarray, column_scales: np.ndarray, offsets: np.ndarray
) -> None:
    # The result overwrites the sums.
    outputs = sums.view(np.float32)
    for row in range(len(sums)):
        scale = scales[row]
        for column in range(sums.shape[1]):
            outputs[row, column] = (
                np.float32(sums[row, column]) * (scale * column_scales[column]) + offsets[column]
            )
