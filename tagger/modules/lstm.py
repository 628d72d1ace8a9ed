"""A bidirectional LSTM layer over right-padded sequences.

Letters: `B` batch, `T` tokens, `D` features of a token, `H` hidden size.
"""

from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch.autograd.function import once_differentiable
from torch.func import functional_call

from tagger.common.threads import run_side_by_side
from tagger.modules.dropout import dropout

Lstms = Tuple[torch.nn.LSTM, torch.nn.LSTM]
Kept = Optional[torch.Tensor]


def bidirectional_lstm(
    to_right: torch.nn.LSTM,
    to_left: torch.nn.LSTM,
    inputs: torch.Tensor,
    mask: torch.BoolTensor,
    recurrent_dropout: float = 0.0,
    reversal: Optional[torch.Tensor] = None,
    bfloat16: bool = False,
) -> torch.Tensor:
    """Runs one LSTM over each sequence, and another over the sequence reversed.

    Graves & Schmidhuber (2005), Framewise phoneme classification with bidirectional LSTM.

    On a CPU with several threads both directions run at the same time, each on half of them, because
    PyTorch's LSTM is hardly faster on two threads than on one. The states then have only first
    derivatives. On any CPU they have the type of `inputs`, even under automatic mixed precision.

    Sequences are not packed, because on a CPU this makes PyTorch's backward pass take up to three times
    as long.

    Args:
        to_right: An LSTM of one layer and one direction, `batch_first`, with biases.
        to_left: Another LSTM of the same sizes.
        inputs: (B, T, D). The padding must be finite.
        mask: (B, T) bool, right-padded.
        recurrent_dropout: The probability that a weight between states is dropped in this call, for all
            tokens alike (Merity et al. 2018, section 2, DropConnect).
        reversal: The result of `reversal_of(mask)`, which layers can share; `None` to compute it.
        bfloat16: Whether to multiply in bfloat16, on a CPU, forwards and backwards.

    Returns:
        (B, T, 2H), the states of `to_right` and those of `to_left`, 0 in the padding.
    """
    _check(to_right, to_left, inputs, mask)
    if inputs.size(1) == 0:  # which PyTorch's LSTM refuses
        return inputs.sum(2, keepdim=True).expand(-1, -1, 2 * to_right.hidden_size)
    if reversal is None:
        reversal = reversal_of(mask)
    lstms, both_inputs = (to_right, to_left), (inputs, _Reversed.apply(inputs, reversal))
    # Drawn here, because threads would draw in a random order.
    kept = [_kept_weights(lstm, recurrent_dropout) for lstm in lstms]
    if _leaves_threads_idle(inputs.device):
        weights = [weights for lstm in lstms for weights in lstm.parameters()]
        from_left, from_right = _SideBySide.apply(
            lstms, kept, bfloat16, torch.is_grad_enabled(), *both_inputs, *weights
        )
    else:
        from_left, from_right = (_states(*each, bfloat16) for each in zip(lstms, kept, both_inputs))
    # (B, T, 2H)
    states = torch.cat([from_left, _Reversed.apply(from_right, reversal)], dim=2)
    return states * mask.unsqueeze(2).to(states.dtype)


def reversal_of(mask: torch.Tensor) -> torch.Tensor:
    """Where each token lies when its sequence is reversed.

    `mask` is (B, T), right-padded. The result is (B * T,) int64, rows of all tokens of the batch.
    """
    positions = torch.arange(mask.size(1), device=mask.device)
    reversed_positions = torch.where(mask, mask.sum(1, keepdim=True) - 1 - positions, positions)
    first_rows = torch.arange(len(mask), device=mask.device) * mask.size(1)
    return (first_rows.unsqueeze(1) + reversed_positions).view(-1)


class _Reversed(torch.autograd.Function):
    """Reverses sequences, (B, T, D); their gradients, too, since twice reversed is as before.

    Autograd's gradient of `index_select` and of `gather` adds rows up, which takes ten times as long.
    """

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, reversal: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(reversal)
        return values.reshape(-1, values.size(2)).index_select(0, reversal).view(values.shape)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Tuple[torch.Tensor, None]:
        return _Reversed.apply(gradient, *ctx.saved_tensors), None


def _leaves_threads_idle(device: torch.device) -> bool:
    """Whether one direction leaves threads idle. One direction keeps a GPU busy."""
    return device.type == "cpu" and torch.get_num_threads() > 1


def _kept_weights(lstm: torch.nn.LSTM, recurrent_dropout: float) -> Kept:
    """Returns a factor for each weight between states, (4H, H), None without dropout."""
    if recurrent_dropout == 0:
        return None
    weights = lstm.get_parameter("weight_hh_l0")
    return dropout(torch.ones_like(weights), recurrent_dropout)


def _states(lstm: torch.nn.LSTM, kept: Kept, inputs: torch.Tensor, bfloat16: bool) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
        if len(inputs) == 1 and not torch.is_grad_enabled():
            # A single sequence is computed differently from several, which changes the last digits.
            return _states(lstm, kept, inputs.expand(2, -1, -1), bfloat16)[:1]
        if kept is None:
            return lstm(inputs)[0].to(inputs.dtype)
        weights = lstm.get_parameter("weight_hh_l0") * kept
        return functional_call(lstm, {"weight_hh_l0": weights}, (inputs,))[0].to(inputs.dtype)


class _SideBySide(torch.autograd.Function):
    """Runs two LSTMs in parallel, and their backward passes too, which autograd would run in sequence.

    `weights` are those of the LSTMs, because autograd passes gradients only to arguments.
    """

    @staticmethod
    def forward(
        ctx: Any,
        lstms: Lstms,
        kept: Sequence[Kept],
        bfloat16: bool,
        is_differentiated: bool,
        *tensors: torch.Tensor,
    ) -> Tuple[torch.Tensor, ...]:
        # Leaves of a separate graph for each direction.
        ctx.inputs = [
            inputs.detach().requires_grad_(is_differentiated and needs_grad)
            for inputs, needs_grad in zip(tensors[:2], ctx.needs_input_grad[4:6])
        ]
        ctx.lstms = lstms
        calls = [(is_differentiated, *each, bfloat16) for each in zip(lstms, kept, ctx.inputs)]
        ctx.states = run_side_by_side(_graph, calls, num_workers=2)
        return tuple(states.detach() for states in ctx.states)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *state_grads: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        leaves = [[inputs, *lstm.parameters()] for inputs, lstm in zip(ctx.inputs, ctx.lstms)]
        calls = list(zip(ctx.states, leaves, state_grads))
        (from_left, *first), (from_right, *second) = run_side_by_side(
            _gradients, calls, num_workers=2
        )
        return (None, None, None, None, from_left, from_right, *first, *second)


def _graph(
    is_differentiated: bool,
    lstm: torch.nn.LSTM,
    kept: Kept,
    inputs: torch.Tensor,
    bfloat16: bool,
) -> torch.Tensor:
    with torch.set_grad_enabled(is_differentiated):
        return _states(lstm, kept, inputs, bfloat16)


def _gradients(
    states: torch.Tensor, leaves: Sequence[torch.Tensor], state_grads: torch.Tensor
) -> List[Optional[torch.Tensor]]:
    """Returns the gradient of each leaf, None for those that require none."""
    if not states.requires_grad:
        return [None] * len(leaves)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    # The graph is kept, since the caller may repeat the backward pass.
    gradients = iter(torch.autograd.grad(states, wanted, state_grads, retain_graph=True))
    return [next(gradients) if leaf.requires_grad else None for leaf in leaves]


def _check(
    to_right: torch.nn.LSTM, to_left: torch.nn.LSTM, inputs: torch.Tensor, mask: torch.BoolTensor
) -> None:
    """Raises a ValueError that names what does not fit."""
    num_features, size = inputs.size(-1), to_right.hidden_size
    expected = [(4 * size, num_features), (4 * size, size), (4 * size,), (4 * size,)]
    for name, lstm in (("to_right", to_right), ("to_left", to_left)):
        shapes = [tuple(weights.shape) for weights in lstm.parameters()]
        if shapes != expected or not lstm.batch_first:
            raise ValueError(
                f"`{name}` must be a `batch_first` LSTM of one layer and one direction, with biases, "
                f"from {num_features} features, which `inputs` has, to {size}; got {lstm}"
            )
    if inputs.dim() != 3 or mask.shape != inputs.shape[:2]:
        raise ValueError(
            f"`inputs` must be (B, T, D) and `mask` (B, T); got shapes {tuple(inputs.shape)} and "
            f"{tuple(mask.shape)}"
        )
