from functools import partial
from unittest.mock import Mock

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tagger.modules import BiLstmEncoder
from tagger.modules.dropout import dropout
from tagger.modules.encoders import bilstm
from tagger.modules.lstm import bidirectional_lstm, reversal_of
from tests.linear_chain.chains import mask_of


def lstms(input_size, hidden_size, dtype=torch.float64):
    torch.manual_seed(0)
    both = torch.nn.LSTM(input_size, hidden_size, batch_first=True, bidirectional=True, dtype=dtype)
    directions = []
    for suffix in ("", "_reverse"):
        lstm = torch.nn.LSTM(input_size, hidden_size, batch_first=True, dtype=dtype)
        for name, weights in lstm.named_parameters():
            weights.data = getattr(both, name + suffix).data.clone()
        directions.append(lstm)
    return both, directions


def by_pytorch(both, inputs, lengths):
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(both(packed)[0], batch_first=True)[0]


def gradients(outputs, leaves):
    weights = torch.linspace(-1, 1, outputs.numel(), dtype=outputs.dtype).view_as(outputs)
    return torch.autograd.grad((outputs * weights).sum(), leaves)


def batch():
    return torch.randn(3, 5, 7, dtype=torch.float64), mask_of([5, 0, 3])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lengths", [[4], [1, 1], [6, 2, 5, 6, 1, 3, 4]])
@pytest.mark.parametrize("hidden_size", [3, 8])
def test_states_and_gradients_equal_pytorchs(num_threads, dtype, lengths, hidden_size):
    both, directions = lstms(7, hidden_size, dtype)
    mask = mask_of(lengths)
    inputs = torch.randn(*mask.shape, 7, dtype=dtype, requires_grad=True)
    states = bidirectional_lstm(*directions, inputs, mask)
    expected = by_pytorch(both, inputs, torch.tensor(lengths))
    torch.testing.assert_close(states, expected)
    assert torch.get_num_threads() == num_threads
    found = gradients(states, [inputs, *directions[0].parameters(), *directions[1].parameters()])
    torch.testing.assert_close(found, gradients(expected, [inputs, *both.parameters()]))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_states_are_the_same_without_gradients(num_threads, mode):
    _, directions = lstms(7, 4)
    inputs, mask = batch()
    expected = bidirectional_lstm(*directions, inputs, mask)
    with mode():
        states = bidirectional_lstm(*directions, inputs.clone(), mask)
        assert not states.requires_grad
        assert torch.equal(states, expected)
    assert expected[1].eq(0).all()


def test_mixed_precision_changes_nothing(num_threads):
    _, directions = lstms(7, 4, torch.float32)
    inputs, mask = torch.randn(3, 5, 7, requires_grad=True), mask_of([5, 0, 3])
    expected = bidirectional_lstm(*directions, inputs, mask)
    with torch.autocast("cpu", torch.bfloat16):
        states = bidirectional_lstm(*directions, inputs, mask)
    torch.testing.assert_close(states, expected)
    torch.testing.assert_close(gradients(states, [inputs]), gradients(expected, [inputs]))


def test_recurrent_dropout_drops_weights_between_states(num_threads):
    _, directions = lstms(7, 16)
    mask = mask_of([5, 0, 3])
    inputs = torch.randn(*mask.shape, 7, dtype=torch.float64, requires_grad=True)
    leaves = [inputs, *(lstm.weight_hh_l0 for lstm in directions)]
    torch.manual_seed(1)
    states = bidirectional_lstm(*directions, inputs, mask, recurrent_dropout=0.25)
    found = gradients(states, leaves)
    torch.manual_seed(1)
    # Kept weights are scaled up; dropped ones get no gradient.
    factors = [dropout(torch.ones_like(leaf), 0.25) for leaf in leaves[1:]]
    for leaf, factor in zip(leaves[1:], factors):
        assert 0.2 < (factor == 0).double().mean() < 0.3
        leaf.data *= factor
    expected = bidirectional_lstm(*directions, inputs, mask)
    torch.testing.assert_close(states, expected)
    for gradient, factor, plain in zip(found, [1, *factors], gradients(expected, leaves)):
        torch.testing.assert_close(gradient, plain * factor)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_gives_the_same_result():
    _, directions = lstms(7, 4)
    inputs, mask = batch()
    expected = bidirectional_lstm(*directions, inputs, mask)
    on_gpu = [lstm.cuda() for lstm in directions]
    torch.testing.assert_close(
        bidirectional_lstm(*on_gpu, inputs.cuda(), mask.cuda()).cpu(), expected
    )


def test_frozen_inputs_and_weights_get_no_gradient(num_threads):
    _, directions = lstms(3, 2)
    to_right, to_left = directions
    for weights in to_left.parameters():
        weights.requires_grad_(False)
    inputs = torch.randn(2, 4, 3, dtype=torch.float64)
    bidirectional_lstm(*directions, inputs, mask_of([4, 2])).sum().backward()
    assert all(weights.grad is not None for weights in to_right.parameters())
    assert all(weights.grad is None for weights in to_left.parameters())


def test_the_parallel_backward_pass_can_be_repeated_but_not_differentiated(monkeypatch):
    monkeypatch.setattr("tagger.modules.lstm._leaves_threads_idle", lambda _: True)
    _, directions = lstms(3, 2)
    inputs = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    states = bidirectional_lstm(*directions, inputs, mask_of([4, 2]))
    first, second = (
        torch.autograd.grad(states.sum(), inputs, retain_graph=True)[0] for _ in range(2)
    )
    assert torch.equal(first, second)
    slope = torch.autograd.grad(states.square().sum(), inputs, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_empty_batches_are_supported(shape):
    _, directions = lstms(3, 2)
    inputs = torch.randn(*shape, 3, dtype=torch.float64, requires_grad=True)
    states = bidirectional_lstm(*directions, inputs, torch.ones(shape, dtype=torch.bool))
    assert states.shape == (*shape, 4)
    states.sum().backward()
    assert inputs.grad.shape == inputs.shape


def test_large_numbers_saturate_and_nan_is_not_hidden():
    both, directions = lstms(7, 4, torch.float32)
    inputs = 1e6 * torch.randn(2, 5, 7)
    mask = mask_of([5, 5])
    states = bidirectional_lstm(*directions, inputs, mask)
    torch.testing.assert_close(states, both(inputs)[0])
    inputs[1, 2, 3] = torch.nan
    states = bidirectional_lstm(*directions, inputs, mask)
    assert states[0].isfinite().all()
    assert states[1, 2:, :4].isnan().all()
    assert states[1, :3, 4:].isnan().all()


def test_works_in_a_forked_process(num_threads, in_forked_process):
    _, directions = lstms(3, 2)
    inputs, mask = torch.ones(2, 4, 3, dtype=torch.float64), mask_of([4, 2])

    def states():
        return bidirectional_lstm(*directions, inputs, mask).tolist()

    expected = states()
    # After a backward pass PyTorch's autograd engine has threads, which a forked process lacks.
    bidirectional_lstm(*directions, inputs, mask).sum().backward()
    # Repeated, because thread conflicts are rare.
    for _ in range(20):
        assert in_forked_process(states) == expected


def lstm_of(*sizes, **options):
    return torch.nn.LSTM(*sizes, **{"batch_first": True, **options})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"inputs": torch.zeros(2, 4, 5)},
            "from 5 features, which `inputs` has, to 2; got LSTM.3, 2",
        ),
        ({"to_left": lstm_of(3, 4)}, "`to_left` must .* to 2; got LSTM.3, 4"),
        ({"to_left": lstm_of(3, 2, batch_first=False)}, "`to_left` must be a `batch_first` LSTM"),
        ({"to_right": lstm_of(3, 2, 2)}, "`to_right` must .* one layer"),
        ({"to_right": lstm_of(3, 2, bias=False)}, "with biases"),
        ({"mask": mask_of([5, 3])}, r"got shapes \(2, 4, 3\) and \(2, 5\)"),
        ({"mask": mask_of([4, 3, 1])}, r"got shapes \(2, 4, 3\) and \(3, 4\)"),
        ({"inputs": torch.zeros(4, 3), "mask": mask_of([3])}, r"`inputs` must be \(B, T, D\)"),
    ],
)
def test_mismatched_arguments_are_refused(change, message):
    names = ("to_right", "to_left", "inputs", "mask")
    given = dict(zip(names, (lstm_of(3, 2), lstm_of(3, 2), torch.zeros(2, 4, 3), mask_of([4, 3]))))
    with pytest.raises(ValueError, match=message):
        bidirectional_lstm(**{**given, **change})


@torch.no_grad()
@pytest.mark.parametrize(("size", "hidden"), [(50, 50), (100, 100), (30, 25)])
def test_other_rows_of_the_batch_do_not_change_a_single_bit(size, hidden):
    to_right, to_left = (torch.nn.LSTM(size, hidden, batch_first=True) for _ in range(2))
    lengths = torch.tensor([9, 1, 4, 30, 17, 2])
    inputs, mask = torch.randn(6, 30, size), torch.arange(30) < lengths.unsqueeze(1)
    together = bidirectional_lstm(to_right, to_left, inputs, mask)
    for row, length in enumerate(lengths.tolist()):
        own = inputs[row : row + 1, :length], mask[row : row + 1, :length]
        alone = bidirectional_lstm(to_right, to_left, *own)
        assert torch.equal(together[row, :length], alone[0])


MASK = mask_of([5, 2, 4])


def test_the_encoder_equals_pytorchs_stacked_bidirectional_lstm():
    encoder = BiLstmEncoder(7, 4, 2)
    stacked = torch.nn.LSTM(7, 4, 2, batch_first=True, bidirectional=True)
    weights = {}
    for layer, modules in enumerate(zip(encoder.forward_layers, encoder.backward_layers)):
        for module, suffix in zip(modules, ("", "_reverse")):
            for name, value in module.state_dict().items():
                weights[name.replace("l0", f"l{layer}{suffix}")] = value
    stacked.load_state_dict(weights)
    inputs = torch.randn(3, 5, 7)
    torch.testing.assert_close(encoder(inputs, MASK), by_pytorch(stacked, inputs, MASK.sum(1)))


@pytest.mark.parametrize("garbage", [1e6, torch.nan])
def test_padding_changes_nothing(garbage):
    encoder, inputs = BiLstmEncoder(7, 4), torch.randn(3, 5, 7)
    dirty = inputs.masked_fill(~MASK.unsqueeze(2), garbage).requires_grad_()
    outputs = encoder(dirty, MASK)
    torch.testing.assert_close(outputs, encoder(inputs, MASK))
    outputs.sum().backward()
    assert dirty.grad[1, 2:].eq(0).all()


@pytest.mark.parametrize("name", ["", "input_", "output_", "recurrent_"])
@pytest.mark.parametrize("variational", [False, True])
def test_dropout_acts_in_training_only_and_variational_dropout_on_whole_features(name, variational):
    encoder = BiLstmEncoder(7, 40, 2, variational=variational, **{f"{name}dropout": 0.5})
    inputs, mask = torch.randn(3, 5, 7), torch.ones(3, 5, dtype=torch.bool)
    first, second = encoder(inputs, mask), encoder(inputs, mask)
    assert not torch.equal(first, second)
    if name == "output_":
        always_zero = first.eq(0).all(1).float().mean()
        assert (always_zero > 0.3) == variational
    encoder.eval()
    assert torch.equal(encoder(inputs, mask), encoder(inputs, mask))


def test_the_index_of_reversed_tokens_is_computed_once_for_all_layers(monkeypatch):
    reversal = Mock(return_value=reversal_of(MASK))
    monkeypatch.setattr("tagger.modules.lstm.reversal_of", None)
    monkeypatch.setattr("tagger.modules.encoders.bilstm.reversal_of", reversal)
    BiLstmEncoder(7, 4, num_layers=3)(torch.randn(3, 5, 7), MASK)
    reversal.assert_called_once()


@pytest.fixture
def lstm():
    torch.manual_seed(0)
    return torch.nn.LSTM(48, 40, batch_first=True).requires_grad_(False)


def in_bfloat16(lstm, inputs):
    mask = torch.ones(inputs.shape[:2], dtype=torch.bool)
    return bidirectional_lstm(lstm, lstm, inputs, mask, bfloat16=True)


def test_states_in_bfloat16_are_close_and_have_the_type_of_the_inputs(lstm):
    inputs = 3 * torch.randn(3, 7, 48)
    got, exact = in_bfloat16(lstm, inputs)[..., :40], lstm(inputs)[0]
    assert got.dtype == torch.float32
    assert 0 < (got - exact).norm() < 0.01 * exact.norm()


def test_a_sequence_does_not_depend_on_the_others(lstm):
    inputs = torch.randn(4, 7, 48)
    inputs[2] *= 1000
    together = in_bfloat16(lstm, inputs)
    for row in range(4):
        assert torch.equal(together[row], in_bfloat16(lstm, inputs[row : row + 1])[0])


def test_nan_stays_nan(lstm):
    inputs = torch.randn(2, 7, 48)
    inputs[1, 3] = torch.nan
    states = in_bfloat16(lstm, inputs)
    assert states[1, 3:, :40].isnan().all()
    assert states[0].isfinite().all()
    assert states[1, :3, :40].isfinite().all()


def test_an_encoder_computes_in_bfloat16_on_demand(num_threads, monkeypatch):
    inputs = torch.randn(3, 5, 7)
    results = {}
    for precision, has_products in (
        ("float32", True),
        ("auto", False),
        ("auto", True),
        ("bfloat16", False),
    ):
        monkeypatch.setattr(bilstm, "has_bfloat16_products", partial(bool, has_products))
        torch.manual_seed(0)
        encoder = BiLstmEncoder(7, 4, 2, precision=precision)
        states = encoder(inputs, MASK)
        assert states[~MASK].eq(0).all()
        results[precision, has_products] = [states, *gradients(states, [*encoder.parameters()])]
    exact, rounded = results["float32", True], results["bfloat16", False]
    assert all(map(torch.equal, exact, results["auto", False]))
    assert all(map(torch.equal, rounded, results["auto", True]))
    assert not any(map(torch.equal, exact, rounded))
    for each, other in zip(exact, rounded):
        torch.testing.assert_close(each, other, atol=0.02, rtol=0.02)


def test_states_that_stay_in_bfloat16_between_layers_are_the_same(num_threads):
    inputs, mask = torch.randn(3, 5, 7), mask_of([5, 0, 3])
    encoder = BiLstmEncoder(7, 4, 3, precision="bfloat16").eval()
    with torch.no_grad():
        found = encoder(inputs, mask)
    assert found.dtype == torch.float32
    assert torch.equal(found, encoder(inputs, mask))
