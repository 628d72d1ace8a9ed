"""A bidirectional LSTM layer over right-padded sequences."""

import torch

from tagger.lstm.autograd import BidirectionalLstm


def bidirectional_lstm(
    to_right: torch.nn.LSTM, to_left: torch.nn.LSTM, inputs: torch.Tensor, mask: torch.BoolTensor
) -> torch.Tensor:
    """Runs one LSTM over each sequence, and another over the sequence reversed.

    Graves & Schmidhuber (2005), Framewise phoneme classification with bidirectional LSTM.

    On a CPU, in float32 and float64, it is computed by kernels, both directions at the same time, in
    that precision under automatic mixed precision too; elsewhere PyTorch runs one direction after the
    other. Either way sequences are not packed: on a CPU the backward pass of PyTorch's packed LSTM is
    quadratic in T.

    Args:
        to_right: of one layer and one direction, `batch_first`, with biases.
        to_left: likewise, of the same sizes.
        inputs: (B, T, D); what stands in the padding must be finite.
        mask: (B, T) bool, right-padded.

    Returns:
        (B, T, 2 * hidden_size), the states of `to_right` and those of `to_left`, 0 in the padding.

    Raises:
        ValueError: if the LSTMs are others, or a size does not fit.
    """
    _check(to_right, to_left, inputs, mask)
    if _kernels_serve(inputs, to_right, to_left):
        # Of one layer these are the weights of input and state, and the two biases.
        weights = [*to_right.parameters(), *to_left.parameters()]
        # (T, B, 2 * hidden_size)
        states = BidirectionalLstm.apply(
            torch.is_grad_enabled(), inputs.transpose(0, 1), mask.sum(1), *weights
        )
        return states.transpose(0, 1)
    # (B, T, 1): where each token lies when its sequence is reversed and the padding stays
    positions = torch.arange(mask.size(1), device=mask.device)
    reversal = torch.where(mask, mask.sum(1, keepdim=True) - 1 - positions, positions).unsqueeze(2)
    from_left, _ = to_right(inputs)
    from_right, _ = to_left(_reordered(inputs, reversal))
    states = torch.cat([from_left, _reordered(from_right, reversal)], dim=2)
    return states.masked_fill(~mask.unsqueeze(2), 0)


def _reordered(inputs: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Token t of the result, (B, T, D), is token `positions[:, t]` of `inputs`, (B, T, D)."""
    return inputs.gather(1, positions.expand_as(inputs))


def _kernels_serve(inputs: torch.Tensor, *lstms: torch.nn.LSTM) -> bool:
    """Whether kernels can compute it."""
    return (
        inputs.device.type == "cpu"
        and inputs.dtype in (torch.float32, torch.float64)
        # Of others PyTorch makes what it can.
        and all(weights.dtype == inputs.dtype for lstm in lstms for weights in lstm.parameters())
    )


def _check(
    to_right: torch.nn.LSTM, to_left: torch.nn.LSTM, inputs: torch.Tensor, mask: torch.BoolTensor
) -> None:
    """Raises ValueError where kernels would read what is not there."""
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
