"""The bidirectional LSTM layer with its derivative, on a CPU.

Letters: `T` steps, `B` sequences, `D` features of a token, `H` of a state. Sequences are laid out step
by step, so that what one step needs lies together.
"""

from typing import Any, List, Optional, Tuple

import torch
from torch.autograd.function import once_differentiable

from tagger.kernels.compilation import for_row_ranges
from tagger.kernels.threads import run_side_by_side
from tagger.kernels.tiles import panels_of
from tagger.lstm.kernels import backward_rows, forward_rows


class BidirectionalLstm(torch.autograd.Function):
    """`apply(is_differentiated, inputs, lengths, *weights)` gives the states of both directions.

    Inputs are (T, B, D), lengths (B,) int64. The weights are those of the direction from the left, then
    of that from the right: (4H, D), (4H, H), (4H,), (4H,), as PyTorch's LSTM has them. States are
    (T, B, 2H), 0 in the padding. They can be differentiated once.
    """

    @staticmethod
    def forward(
        ctx: Any,
        is_differentiated: bool,
        inputs: torch.Tensor,
        lengths: torch.Tensor,
        *weights: torch.Tensor,
    ) -> torch.Tensor:
        inputs = inputs.contiguous()
        num_steps, num_rows, _ = inputs.shape
        hidden_size = weights[1].size(1)
        # (T, B, 2, H)
        states = inputs.new_empty(num_steps, num_rows, 2, hidden_size)
        # For the states alone, cells of one step are enough, and gates are not kept.
        num_kept = num_steps if is_differentiated else 0
        cells = inputs.new_empty(max(1, num_kept), num_rows, 2, hidden_size)
        # (T, B, 2, 4H)
        gates = inputs.new_empty(num_kept, num_rows, 2, 4 * hidden_size)
        common = (inputs, lengths, states, cells, gates)
        directions = [(0, weights[:4], *common), (1, weights[4:], *common)]
        run_side_by_side(_forward, directions, num_workers=2)
        ctx.save_for_backward(*common, *weights)
        return states.flatten(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, state_grads: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        inputs, lengths, states, cells, gates, *weights = ctx.saved_tensors
        state_grads = state_grads.contiguous().view_as(states)
        gate_grads = torch.empty_like(gates)
        saved = (inputs, lengths, states, cells, gates)
        common = (ctx.needs_input_grad[1], *saved, state_grads, gate_grads)
        directions = [(0, weights[:4], *common), (1, weights[4:], *common)]
        (from_left, *first_grads), (from_right, *second_grads) = run_side_by_side(
            _backward, directions, num_workers=2
        )
        input_grads = None
        if from_left is not None:
            input_grads = from_left.add_(from_right).view_as(inputs)
        return (None, input_grads, None, *first_grads, *second_grads)


def _forward(
    direction: int,
    weights: Tuple[torch.Tensor, ...],
    inputs: torch.Tensor,
    lengths: torch.Tensor,
    states: torch.Tensor,
    cells: torch.Tensor,
    gates: torch.Tensor,
) -> None:
    """Writes states, cells and gates of one direction."""
    by_input, by_state, first_bias, second_bias = weights
    panels = (panels_of(by_input.t()), panels_of(by_state.t()))
    bias = (first_bias + second_bias).numpy()
    work = by_input.numel() + by_state.numel()
    arrays = (value.numpy() for value in (inputs, states, cells, gates))
    rows = lengths.numpy()
    for_row_ranges(forward_rows, rows, work, rows, direction, *panels, bias, *arrays)


def _backward(
    direction: int,
    weights: Tuple[torch.Tensor, ...],
    needs_input_grads: bool,
    inputs: torch.Tensor,
    lengths: torch.Tensor,
    states: torch.Tensor,
    cells: torch.Tensor,
    gates: torch.Tensor,
    state_grads: torch.Tensor,
    gate_grads: torch.Tensor,
) -> List[Optional[torch.Tensor]]:
    """Writes one direction's gradients by the gates, and returns those by the inputs and its weights."""
    by_input, by_state, *_ = weights
    arrays = (value.numpy() for value in (gates, cells, state_grads, gate_grads))
    work, panels = by_state.numel(), panels_of(by_state)
    rows = lengths.numpy()
    for_row_ranges(backward_rows, rows, work, rows, direction, panels, *arrays)
    of_gates = _of_direction(gate_grads, direction)
    of_states = _of_direction(states, direction)
    num_rows, num_others = len(lengths), (len(inputs) - 1) * len(lengths)
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
