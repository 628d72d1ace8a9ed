import pytest
import torch

from tagger.modules.dropout import STEP, Dropout, dropout


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_as_many_are_dropped_and_the_sum_stays(rate, dtype):
    torch.manual_seed(1)
    found = dropout(torch.ones(200, 500, dtype=dtype), rate)
    assert found.dtype == dtype
    assert (found == 0).double().mean().item() == pytest.approx(rate, abs=0.006)
    kept = found[found != 0].double()
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)), rtol=4e-3, atol=0)


def test_neighbours_are_dropped_independently():
    torch.manual_seed(1)
    dropped = (dropout(torch.ones(400_000), 0.5) == 0).double()
    for distance in (1, 2, 3, 4, 8):
        both = (dropped[:-distance] * dropped[distance:]).mean()
        assert both.item() == pytest.approx(0.25, abs=0.004)


def test_the_gradient_is_dropped_alike():
    inputs = torch.randn(3, 7, 5, requires_grad=True)
    found = dropout(inputs, 0.5)
    (gradient,) = torch.autograd.grad(found.sum(), inputs)
    torch.testing.assert_close(gradient * inputs, found)


def test_a_seed_repeats_it():
    first, second = (torch.manual_seed(3) and dropout(torch.ones(50), 0.5) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, dropout(torch.ones(50), 0.5))


@pytest.mark.parametrize("rate", [0.0, STEP / 4, 1.0])
def test_rates_that_no_16_bits_express(rate):
    torch.testing.assert_close(dropout(torch.ones(9), rate), torch.full((9,), float(rate < 1)))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 3)])
def test_any_shape(shape):
    assert dropout(torch.ones(shape), 0.5).shape == shape


def test_nothing_is_dropped_in_evaluation():
    inputs = torch.ones(50)
    assert Dropout(0.5).eval()(inputs) is inputs
    assert (Dropout(0.5)(inputs) == 0).any()
