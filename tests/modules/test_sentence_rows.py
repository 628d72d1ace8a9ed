import pytest
import torch

from tagger.modules.sentence_rows import SentenceRows

LENGTHS = torch.tensor([[2, 3, 1], [4, 0, 0], [1, 1, 0]])
MASK = torch.arange(6) < LENGTHS.sum(1, keepdim=True)


@pytest.fixture
def rows():
    return SentenceRows(MASK, LENGTHS)


def test_rows_are_the_sentences_of_each_document_in_order(rows):
    values = torch.arange(18).view(3, 6)
    found = [row[mask].tolist() for row, mask in zip(rows.split(values), rows.mask)]
    assert found == [[0, 1], [2, 3, 4], [5], [6, 7, 8, 9], [12], [13]]
    assert rows.documents.tolist() == [0, 0, 0, 1, 2, 2]


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_joined_rows_are_the_documents_with_zeros_in_the_padding(rows, shape):
    values = torch.randn(3, 6, *shape)
    joined = rows.join(rows.split(values))
    assert torch.equal(joined[MASK], values[MASK])
    assert (joined[~MASK] == 0).all()


def test_padding_of_rows_does_not_come_back(rows):
    values = torch.randn(3, 6, 2)
    split = rows.split(values).masked_fill(~rows.mask.unsqueeze(2), torch.nan)
    assert torch.equal(rows.join(split)[MASK], values[MASK])
    assert not rows.join(split).isnan().any()


def test_gradients_go_back_to_their_tokens(rows):
    values = torch.randn(3, 6, 2, dtype=torch.float64, requires_grad=True)
    mask = rows.mask.unsqueeze(2)
    assert torch.autograd.gradcheck(lambda v: rows.split(v) * mask, values)
    assert torch.autograd.gradcheck(lambda v: rows.join(rows.split(v)), values)


@pytest.mark.parametrize("lengths", [None, torch.tensor([[3], [2]])])
def test_sentences_are_rows_as_they_are(lengths):
    mask = torch.tensor([[True] * 3, [True, True, False]])
    rows, values = SentenceRows(mask, lengths), torch.randn(2, 3, 4)
    assert not rows.are_documents
    assert rows.split(values) is values
    assert rows.join(values) is values
    assert rows.mask is mask


def test_sentences_that_do_not_make_up_their_document_are_refused():
    with pytest.raises(ValueError, match=r"each document, \[3\]; got \[4\]"):
        SentenceRows(torch.tensor([[True, True, True]]), torch.tensor([[2, 2]]))
