"""The bidirectional LSTM layer with its derivative, on a CPU.

Letters: `T` steps, `B` sequences, `D` features of a token, `H` of a state. Sequences are laid out step
by step, so that what one step needs lies together.
"""

from typing import Any, Callable, List, Optional, Tuple

import torch
from torch.autograd.function import once_differentiable

from tagger.kernels.compilation import for_row_ranges
from tagger.kernels.tiles import panels_of
from tagger.lstm.kernels import backward_rows, forward_rows
from tagger.lstm.threads import run_both


class BidirectionalLstm(torch.autograd.Function):
    """`apply(inputs, lengths, *weights)` gives the states of both directions.

    Inputs are (T, B, D), lengths (B,) int64. The weights are those of the direction from the left, then
    of that from the right: (4H, D), (4H, H), (4H,), (4H,), as PyTorch's LSTM has them. States are
    (T, B, 2H), 0 in the padding. They can be differentiated once.
    """

    @staticmethod
    def forward(
        ctx: Any, inputs: torch.Tensor, lengths: torch.Tensor, *weights: torch.Tensor
    ) -> torch.Tensor:
        inputs = inputs.contiguous()
        hidden_size = weights[1].size(1)
        # (T, B, 2, 4H)
        gates = inputs.new_empty(*inputs.shape[:2], 2, 4 * hidden_size)
        # (T, B, 2, H)
        states = inputs.new_empty(*inputs.shape[:2], 2, hidden_size)
        cells = torch.empty_like(states)
        common = (inputs, lengths, gates, states, cells)
        run_both(_forward, (0, weights[:4], *common), (1, weights[4:], *common))
        ctx.save_for_backward(*common, *weights)
        return states.flatten(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, state_grads: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        *common, states, cells = ctx.saved_tensors[:5]
        weights = ctx.saved_tensors[5:]
        state_grads = state_grads.contiguous().view_as(states)
        gate_grads = torch.empty_like(common[2])
        common = (ctx.needs_input_grad[0], *common, states, cells, state_grads, gate_grads)
        (from_left, *first_grads), (from_right, *second_grads) = run_both(
            _backward, (0, weights[:4], *common), (1, weights[4:], *common)
        )
        input_grads = None
        if from_left is not None:
            input_grads = from_left.add_(from_right).view_as(common[1])
        return (input_grads, None, *first_grads, *second_grads)


def _forward(
    direction: int,
    weights: Tuple[torch.Tensor, ...],
    inputs: torch.Tensor,
    lengths: torch.Tensor,
    gates: torch.Tensor,
    states: torch.Tensor,
    cells: torch.Tensor,
) -> None:
    """Writes gates, states and cells of one direction."""
    by_input, by_state, first_bias, second_bias = weights
    torch.addmm(
        first_bias + second_bias,
        inputs.flatten(0, 1),
        by_input.t(),
        out=_of_direction(gates, direction),
    )
    _run(forward_rows, direction, lengths, by_state.t(), gates, states, cells)


def _backward(
    direction: int,
    weights: Tuple[torch.Tensor, ...],
    needs_input_grads: bool,
    inputs: torch.Tensor,
    lengths: torch.Tensor,
    gates: torch.Tensor,
    states: torch.Tensor,
    cells: torch.Tensor,
    state_grads: torch.Tensor,
    gate_grads: torch.Tensor,
) -> List[Optional[torch.Tensor]]:
    """Writes one direction's gradients by the gates, and returns those by the inputs and its weights."""
    by_input, by_state, *_ = weights
    _run(backward_rows, direction, lengths, by_state, gates, cells, state_grads, gate_grads)
    of_gates = _of_direction(gate_grads, direction)
    of_states = _of_direction(states, direction)
    num_rows, num_others = len(lengths), max(0, len(inputs) - 1) * len(lengths)
    # The steps that have one before them in this direction, and those that are before one.
    later, earlier = of_gates[num_rows:], of_states[:num_others]
    if direction == 1:
        later, earlier = of_gates[:num_others], of_states[num_rows:]
    bias_grads = of_gates.sum(0)
    return [
        of_gates @ by_input if needs_input_grads else None,
        of_gates.t() @ inputs.flatten(0, 1),
        later.t() @ earlier,
        bias_grads,
        bias_grads,
    ]


def _of_direction(values: torch.Tensor, direction: int) -> torch.Tensor:
    """One direction of (T, B, 2, F) as (T * B, F), without copying."""
    return values.flatten(0, 1)[:, direction]


def _run(
    kernel: Callable[..., None],
    direction: int,
    lengths: torch.Tensor,
    by_state: torch.Tensor,
    *values: torch.Tensor,
) -> None:
    """Calls a kernel of `tagger.lstm.kernels` for all rows."""
    arrays = (value.numpy() for value in values)
    panels = panels_of(by_state)
    for_row_ranges(kernel, lengths.numpy(), by_state.numel(), direction, panels, *arrays)
