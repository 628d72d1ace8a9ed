"""The steps of an LSTM, over some rows of a batch and one direction.

Letters: `T` steps, `B` rows, `D` features of an input, `H` of a state. Direction 0 reads from the left,
1 from the right. Gates stand in PyTorch's order: input, forget, cell, output.
"""

from typing import Any

import numba.types
import numpy as np
from numba.extending import overload

from tagger.kernels.compilation import kernel
from tagger.kernels.exponentials import exp, single_exp
from tagger.kernels.tiles import add_product

# Rows that are taken through all steps together: as many as stay in a processor's cache.
_BLOCK = 24


@kernel
def _forward_block(
    first: int,
    last: int,
    lengths: np.ndarray,
    direction: int,
    by_input: np.ndarray,
    by_state: np.ndarray,
    bias: np.ndarray,
    inputs: np.ndarray,
    states: np.ndarray,
    cells: np.ndarray,
    gates: np.ndarray,
) -> None:
    """Computes the states of rows `first` to `last`, 0 in the padding.

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        direction: 0 or 1.
        by_input: the (D, 4H) weights of the input, as `panels_of` lays them out.
        by_state: the (H, 4H) weights of the state before, likewise.
        bias: (4H,).
        inputs: (T, B, D).
        states: (T, B, 2, H), written.
        cells: (T, B, 2, H), written; (1, B, 2, H) for the states alone.
        gates: (T, B, 2, 4H), written; of no size for the states alone.
    """
    _, num_rows, num_features = inputs.shape
    size = states.shape[3]
    is_kept = gates.size > 0
    num_steps = lengths[first:last].max()
    states[num_steps:, first:last, direction] = 0
    sums = np.empty((last - first, len(by_state) * by_state.shape[2]), inputs.dtype)
    no_cell, scratch = np.zeros(size, inputs.dtype), np.empty(4 * size, inputs.dtype)
    for step in range(num_steps):
        t = step if direction == 0 else num_steps - 1 - step
        before = t - 1 if direction == 0 else t + 1
        sums[:, : 4 * size] = bias
        add_product(sums, inputs, (t * num_rows + first) * num_features, num_features, by_input)
        if step > 0:
            start = ((before * num_rows + first) * 2 + direction) * size
            add_product(sums, states, start, 2 * size, by_state)
        for b in range(first, last):
            state, cell = states[t, b, direction], cells[t * is_kept, b, direction]
            if t >= lengths[b]:
                state[:] = 0
                cell[:] = 0
                continue
            row = sums[b - first]
            gate = gates[t, b, direction] if is_kept else scratch
            old_cell = cells[before * is_kept, b, direction] if step > 0 else no_cell
            for k in range(2 * size):
                gate[k] = _sigmoid(row[k])
            for k in range(2 * size, 3 * size):
                gate[k] = _tanh(row[k])
            for k in range(3 * size, 4 * size):
                gate[k] = _sigmoid(row[k])
            for j in range(size):
                cell[j] = gate[size + j] * old_cell[j] + gate[j] * gate[2 * size + j]
            for j in range(size):
                state[j] = gate[3 * size + j] * _tanh(cell[j])


@kernel
def _backward_block(
    first: int,
    last: int,
    lengths: np.ndarray,
    direction: int,
    panels: np.ndarray,
    gates: np.ndarray,
    cells: np.ndarray,
    state_grads: np.ndarray,
    gate_grads: np.ndarray,
) -> None:
    """Computes gradients by the gates before their activation, 0 in the padding.

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        direction: 0 or 1.
        panels: the (4H, H) weights of the state before, as `panels_of` lays them out.
        gates: (T, B, 2, 4H).
        cells: (T, B, 2, H).
        state_grads: (T, B, 2, H), by the states as the layer's outputs.
        gate_grads: (T, B, 2, 4H), written.
    """
    _, num_rows, _, num_gates = gates.shape
    size = num_gates // 4
    num_steps = lengths[first:last].max()
    gate_grads[num_steps:, first:last, direction] = 0
    width = len(panels) * panels.shape[2]
    by_states = np.empty((last - first, width), gates.dtype)
    by_cells = np.zeros((last - first, size), gates.dtype)
    no_cell = np.zeros(size, gates.dtype)
    for step in range(num_steps - 1, -1, -1):
        t = step if direction == 0 else num_steps - 1 - step
        before, after = (t - 1, t + 1) if direction == 0 else (t + 1, t - 1)
        by_states[:, :size] = state_grads[t, first:last, direction]
        if step < num_steps - 1:
            start = ((after * num_rows + first) * 2 + direction) * num_gates
            add_product(by_states, gate_grads, start, 2 * num_gates, panels)
        for b in range(first, last):
            grad, by_cell = gate_grads[t, b, direction], by_cells[b - first]
            if t >= lengths[b]:
                grad[:] = 0
                by_cell[:] = 0
                continue
            gate, cell, by_state = (
                gates[t, b, direction],
                cells[t, b, direction],
                by_states[b - first],
            )
            old_cell = cells[before, b, direction] if step > 0 else no_cell
            for j in range(size):
                output, tanh = gate[3 * size + j], _tanh(cell[j])
                by_cell[j] += by_state[j] * output * (1 - tanh * tanh)
                grad[3 * size + j] = by_state[j] * tanh * output * (1 - output)
            for j in range(size):
                new, candidate = gate[j], gate[2 * size + j]
                grad[j] = by_cell[j] * candidate * new * (1 - new)
                grad[2 * size + j] = by_cell[j] * new * (1 - candidate * candidate)
            for j in range(size):
                kept = gate[size + j]
                grad[size + j] = by_cell[j] * old_cell[j] * kept * (1 - kept)
                by_cell[j] *= kept


@kernel
def forward_rows(first: int, last: int, *arguments: Any) -> None:
    """As `_forward_block`, block by block."""
    for top in range(first, last, _BLOCK):
        _forward_block(top, min(top + _BLOCK, last), *arguments)


@kernel
def backward_rows(first: int, last: int, *arguments: Any) -> None:
    """As `_backward_block`, block by block."""
    for top in range(first, last, _BLOCK):
        _backward_block(top, min(top + _BLOCK, last), *arguments)


def _exp(x):  # type: ignore[no-untyped-def]
    """e^x for x <= 0 in the precision of x; for kernels."""
    return np.exp(x)


@overload(_exp)
def _exp_of_type(x):  # type: ignore[no-untyped-def]
    if x == numba.types.float32:
        return lambda x: single_exp(x)
    return lambda x: exp(x)


@kernel
def _sigmoid(x: float) -> float:
    one = type(x)(1)
    power = _exp(-abs(x))
    return (power if x < 0 else one) / (one + power)


@kernel
def _tanh(x: float) -> float:
    one = type(x)(1)
    power = _exp(-abs(x + x))
    magnitude = (one - power) / (one + power)
    return -magnitude if x < 0 else magnitude
