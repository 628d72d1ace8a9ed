import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tagger.modules import BiLstmEncoder, lstm
from tests.linear_chain.chains import mask_of

MASK = mask_of([5, 2, 4])


def inputs():
    return torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(0))


def test_equals_pytorchs_stacked_bidirectional_lstm():
    encoder = BiLstmEncoder(7, 4, 2)
    lstm = torch.nn.LSTM(7, 4, 2, batch_first=True, bidirectional=True)
    weights = {}
    for layer, modules in enumerate(zip(encoder.forward_layers, encoder.backward_layers)):
        for module, suffix in zip(modules, ("", "_reverse")):
            for name, value in module.state_dict().items():
                weights[name.replace("l0", f"l{layer}{suffix}")] = value
    lstm.load_state_dict(weights)
    packed = pack_padded_sequence(inputs(), MASK.sum(1), batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
    torch.testing.assert_close(encoder(inputs(), MASK), expected)


@pytest.mark.parametrize("garbage", [1e6, torch.nan])
def test_padding_changes_nothing(garbage):
    encoder = BiLstmEncoder(7, 4)
    dirty = inputs().masked_fill(~MASK.unsqueeze(2), garbage).requires_grad_()
    outputs = encoder(dirty, MASK)
    torch.testing.assert_close(outputs, encoder(inputs(), MASK))
    outputs.sum().backward()
    assert dirty.grad[1, 2:].eq(0).all()


PLACES = ["dropout", "input_dropout", "output_dropout", "recurrent_dropout"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("variational", [False, True])
def test_dropout_acts_in_training_only_and_variational_dropout_on_whole_features(
    place, variational
):
    torch.manual_seed(1)
    encoder = BiLstmEncoder(7, 40, 2, variational=variational, **{place: 0.5})
    mask = torch.ones(3, 5, dtype=torch.bool)
    first, second = encoder(inputs(), mask), encoder(inputs(), mask)
    assert not torch.equal(first, second)
    if place == "output_dropout":
        always_zero = first.eq(0).all(1).float().mean()
        assert (always_zero > 0.3) == variational
    encoder.eval()
    assert torch.equal(encoder(inputs(), mask), encoder(inputs(), mask))


def test_the_index_of_reversed_tokens_is_computed_once_for_all_layers(monkeypatch):
    reversal, calls = lstm.reversal_of(MASK), []
    monkeypatch.setattr("tagger.modules.lstm.reversal_of", None)
    monkeypatch.setattr(
        "tagger.modules.encoders.bilstm.reversal_of", lambda mask: calls.append(mask) or reversal
    )
    BiLstmEncoder(7, 4, num_layers=3)(inputs(), MASK)
    assert len(calls) == 1
