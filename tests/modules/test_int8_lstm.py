"""An LSTM over 8-bit integers gives nearly the states of PyTorch's, row by row."""

import numpy as np
import pytest
import torch

from tagger.modules import BiLstmEncoder
from tagger.modules.encoders import bilstm
from tagger.modules.int8_lstm import int8_states
from tests.linear_chain.chains import mask_of

MASK = mask_of([5, 2, 4])


@pytest.fixture
def lstm():
    torch.manual_seed(0)
    return torch.nn.LSTM(48, 40, batch_first=True).requires_grad_(False)


def levels(rows):
    """Rows rounded to 255 levels, by NumPy."""
    scales = np.abs(rows).max(-1, keepdims=True) / 127
    return np.rint(rows / scales) * scales


def test_the_states_are_those_of_rounded_numbers(lstm):
    inputs = 3 * torch.randn(3, 7, 48)
    of_inputs, of_states = (
        levels(each.numpy().astype(float)) for each in (lstm.weight_ih_l0, lstm.weight_hh_l0)
    )
    offsets = (lstm.bias_ih_l0 + lstm.bias_hh_l0).numpy()
    states, cells = np.zeros((2, 3, 40))
    got = int8_states(lstm, inputs)
    for token in range(7):
        rounded = np.rint(states * 127) / 127
        gates = (
            levels(inputs[:, token].numpy().astype(float)) @ of_inputs.T
            + rounded @ of_states.T
            + offsets
        )
        admits, keeps, new, shows = np.split(gates, 4, axis=1)
        admits, keeps, shows = (1 / (1 + np.exp(-each)) for each in (admits, keeps, shows))
        cells = keeps * cells + admits * np.tanh(new)
        states = shows * np.tanh(cells)
        # A state between two levels may be rounded to either.
        np.testing.assert_allclose(got[:, token], states, atol=2e-3)
        states = got[:, token].double().numpy()
    exact = lstm(inputs)[0]
    assert (got - exact).norm() < 0.02 * exact.norm()


def test_a_sequence_does_not_depend_on_the_others(lstm):
    inputs = torch.randn(4, 7, 48)
    inputs[2] *= 1000
    for row in range(4):
        assert torch.equal(
            int8_states(lstm, inputs)[row], int8_states(lstm, inputs[row : row + 1])[0]
        )


def test_what_is_no_number_stays_so(lstm):
    inputs = torch.randn(2, 7, 48)
    inputs[1, 3] = torch.nan
    states = int8_states(lstm, inputs)
    assert states[1, 3:].isnan().all()
    assert states[0].isfinite().all()
    assert states[1, :3].isfinite().all()


@pytest.mark.parametrize(
    ("precision", "mode", "is_rounded"),
    [
        ("float32", "prediction", False),
        ("auto", "prediction", True),
        ("auto", "gradients", False),
        ("auto", "training", False),
    ],
)
def test_an_encoder_takes_integers_on_demand_to_predict(precision, mode, is_rounded, monkeypatch):
    monkeypatch.setattr(bilstm, "has_int8_matrices", lambda: True)
    torch.manual_seed(0)
    exact, encoder = BiLstmEncoder(7, 4, 2), BiLstmEncoder(7, 4, 2, precision=precision)
    encoder.load_state_dict(exact.state_dict())
    inputs = torch.randn(3, 5, 7)
    for each in (exact, encoder):
        each.train(mode == "training")
    with torch.set_grad_enabled(mode != "prediction"):
        got, wanted = encoder(inputs, MASK), exact(inputs, MASK)
    assert torch.equal(got, wanted) != is_rounded
    torch.testing.assert_close(got, wanted, atol=0.03, rtol=0.03)
    assert got[~MASK].eq(0).all()
