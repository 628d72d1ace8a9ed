"""Matrices of 8-bit integers give nearly what those of floats give, row by row."""

import numpy as np
import pytest
import torch
from transformers import AutoModel

from tagger.transformers.int8_linear import Int8Linear, with_int8_matrices
from tests.transformers.small import save_word_pieces


@pytest.fixture
def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(48, 20).requires_grad_(False)


def rounded(rows):
    """Rows as integers, and their scales, by NumPy."""
    scales = np.abs(rows).max(1, keepdims=True) / np.float32(127)
    return np.rint(rows / scales).astype(np.int64), scales


@pytest.mark.parametrize("with_bias", [True, False])
def test_the_products_are_those_of_rounded_rows(linear, with_bias):
    if not with_bias:
        linear.bias = None
    inputs = torch.randn(3, 5, 48)
    rows, scales = rounded(inputs.reshape(-1, 48).numpy())
    columns, column_scales = rounded(linear.weight.numpy())
    wanted = (rows @ columns.T) * scales * column_scales.T
    if with_bias:
        wanted = wanted + linear.bias.numpy()
    got = Int8Linear(linear)(inputs)
    assert got.shape == (3, 5, 20)
    np.testing.assert_allclose(got.reshape(-1, 20), wanted, rtol=1e-4, atol=1e-4)
    exact = linear(inputs)
    assert (got - exact).norm() < 0.02 * exact.norm()


def test_a_row_does_not_depend_on_the_others(linear):
    layer, inputs = Int8Linear(linear), torch.randn(7, 48)
    inputs[3] *= 1000
    for row in range(7):
        assert torch.equal(layer(inputs)[row], layer(inputs[row : row + 1])[0])


@pytest.mark.parametrize("value", [0.0, 1e-38, 1e-45])
def test_rows_of_nothing_give_the_bias(linear, value):
    inputs = torch.full((2, 48), value)
    torch.testing.assert_close(Int8Linear(linear)(inputs), linear.bias.expand(2, -1))


def test_nan_stays_nan(linear):
    inputs = torch.randn(3, 48)
    inputs[1, 5] = torch.nan
    outputs = Int8Linear(linear)(inputs)
    assert outputs[1].isnan().all()
    assert outputs[[0, 2]].isfinite().all()


def test_inputs_may_lie_anywhere_in_memory_and_come_from_an_autocast(linear):
    inputs, layer = torch.randn(48, 6).bfloat16().t(), Int8Linear(linear)
    assert torch.equal(layer(inputs), layer(inputs.float().contiguous()))


@pytest.fixture
def model(tmp_path):
    return AutoModel.from_pretrained(save_word_pieces(tmp_path / "tiny")).eval()


def layers_of(model, kind):
    return [each for each in model.modules() if isinstance(each, kind)]


def test_a_model_keeps_its_weights_and_shares_them(model):
    number = len(layers_of(model, torch.nn.Linear))
    converted = with_int8_matrices(model)
    assert len(layers_of(model, torch.nn.Linear)) == number
    assert len(layers_of(converted, Int8Linear)) == number
    own = {name: weights.data_ptr() for name, weights in model.named_parameters()}
    assert {name: each.data_ptr() for name, each in converted.named_parameters()} == own


@pytest.mark.parametrize("value", [1_000.0, torch.nan])
def test_a_model_that_would_lose_too_much_stays_as_it_is(model, value):
    with torch.no_grad():
        for layer in layers_of(model, torch.nn.Linear):
            layer.weight[:, 0] = 0
        for norm in layers_of(model, torch.nn.LayerNorm):
            # No layer asks for this feature, which takes all levels from the others of its row.
            norm.bias[0] = value
    assert with_int8_matrices(model) is model
