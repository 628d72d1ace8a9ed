"""One direction of an LSTM that multiplies 8-bit integers, for faster prediction on a CPU.

Letters: `B` batch, `T` tokens, `D` features of a token, `H` hidden size.
"""

import numpy as np
import torch

from tagger.linear_chain.kernels.compilation import kernel
from tagger.linear_chain.kernels.exponentials import exp_float32
from tagger.transformers.int8_linear import LEVELS, rounded_rows

# With Python's numbers, kernels would compute in float64.
_ONE, _MINUS_TWO = np.float32(1), np.float32(-2)


def int8_states(lstm: torch.nn.LSTM, inputs: torch.Tensor) -> torch.Tensor:
    """Runs one layer and direction of an LSTM without gradients; rounds to 255 levels.

    Each token of the inputs, (B, T, D), and each row of the weights has its own scale, so the states of
    a sequence, (B, T, H) float32, do not depend on the batch. Cells and gates are computed in floating
    point.
    """
    weights = dict(lstm.named_parameters())
    # Rounded in each call, since weights may change; this takes 1 % of a batch's time.
    (columns, scales), (state_columns, state_scales) = (
        rounded_rows(weights[name].detach()) for name in ("weight_ih_l0", "weight_hh_l0")
    )
    offsets = (weights["bias_ih_l0"] + weights["bias_hh_l0"]).detach().numpy()
    # States lie between -1 and 1, so one scale fits all.
    constants = scales, state_scales / np.float32(LEVELS), offsets
    by_token = inputs.float().transpose(0, 1)
    num_tokens, batch_size, num_features = by_token.shape
    rows, row_scales = rounded_rows(by_token.reshape(-1, num_features))
    # (T, B, 4H) and (T, B)
    products = torch._int_mm(rows, columns.t()).view(num_tokens, batch_size, -1).numpy()
    row_scales = row_scales.reshape(num_tokens, batch_size)
    states = torch.empty(num_tokens, batch_size, lstm.hidden_size)
    cells = np.zeros(states.shape[1:], np.float32)
    rounded = torch.zeros(cells.shape, dtype=torch.int8)
    # For the previous states, (B, 4H).
    sums = torch.zeros(batch_size, len(offsets), dtype=torch.int32)
    for token, of_token in enumerate(states.numpy()):
        if token > 0:
            torch._int_mm(rounded, state_columns.t(), out=sums)
        counts = products[token], row_scales[token], sums.numpy()
        _advance(*counts, *constants, cells, of_token, rounded.numpy())
    return states.transpose(0, 1)


@kernel
def _advance(
    products: np.ndarray,
    row_scales: np.ndarray,
    sums: np.ndarray,
    scales: np.ndarray,
    state_scales: np.ndarray,
    offsets: np.ndarray,
    cells: np.ndarray,
    states: np.ndarray,
    rounded: np.ndarray,
) -> None:
    """Writes the next cells and states, each (B, H), and the rounded states.

    `products` and `sums`, (B, 4H), are those of the inputs and of the previous states.
    """
    size = cells.shape[1]
    for row in range(len(cells)):
        row_scale = row_scales[row]
        for k in range(size):
            i, f, g, o = k, k + size, k + 2 * size, k + 3 * size
            admits = _gate(products[row, i], row_scale * scales[i], sums[row, i], state_scales[i])
            keeps = _gate(products[row, f], row_scale * scales[f], sums[row, f], state_scales[f])
            new = _gate(products[row, g], row_scale * scales[g], sums[row, g], state_scales[g])
            shows = _gate(products[row, o], row_scale * scales[o], sums[row, o], state_scales[o])
            kept = _sigmoid(keeps + offsets[f]) * cells[row, k]
            cell = kept + _sigmoid(admits + offsets[i]) * _tanh(new + offsets[g])
            state = _sigmoid(shows + offsets[o]) * _tanh(cell)
            cells[row, k] = cell
            states[row, k] = state
            rounded[row, k] = np.int8(np.rint(state * np.float32(LEVELS)))


@kernel
def _gate(product: int, scale: float, sum_of_states: int, state_scale: float) -> float:
    # An int32 times a float32 would be a float64.
    return np.float32(product) * scale + np.float32(sum_of_states) * state_scale


@kernel
def _sigmoid(x: np.float32) -> np.float32:
    power = exp_float32(-abs(x))
    return (_ONE if x > 0 else power) / (_ONE + power)


@kernel
def _tanh(x: np.float32) -> np.float32:
    power = exp_float32(_MINUS_TWO * abs(x))
    size = (_ONE - power) / (_ONE + power)
    return size if x > 0 else -size
