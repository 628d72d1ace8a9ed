"""Sentence rows of documents, and the context that a sentence gets from its document."""

import math

import pytest
import torch

from tagger.modules import document_contexts
from tagger.modules.document_contexts import DocumentContext, PooledStates, SameWords
from tagger.modules.sentence_rows import SentenceRows

LENGTHS = torch.tensor([[2, 3, 1], [4, 0, 0], [1, 1, 0]])
MASK = torch.arange(6) < LENGTHS.sum(1, keepdim=True)
# The padding repeats a word of the document, which must not count.
WORDS = torch.tensor([[0, 1, 0, 2, 0, 1], [0, 1, 2, 2, 0, 0], [0, 0, 0, 0, 0, 0]])
SIZE = 5


@pytest.fixture
def rows():
    return SentenceRows(MASK, LENGTHS, WORDS)


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


def test_padding_of_rows_is_dropped_when_joining(rows):
    values = torch.randn(3, 6, 2)
    split = rows.split(values).masked_fill(~rows.mask.unsqueeze(2), torch.nan)
    assert torch.equal(rows.join(split)[MASK], values[MASK])
    assert not rows.join(split).isnan().any()


def test_gradients_reach_their_tokens(rows):
    values = torch.randn(3, 6, 2, dtype=torch.float64, requires_grad=True)
    mask = rows.mask.unsqueeze(2)
    assert torch.autograd.gradcheck(lambda v: rows.split(v) * mask, values)
    assert torch.autograd.gradcheck(lambda v: rows.join(rows.split(v)), values)


@pytest.mark.parametrize("lengths", [None, torch.tensor([[3], [2]])])
def test_single_sentences_are_left_unchanged(lengths):
    mask = torch.tensor([[True] * 3, [True, True, False]])
    rows, values = SentenceRows(mask, lengths), torch.randn(2, 3, 4)
    assert not rows.are_documents
    assert rows.split(values) is values
    assert rows.join(values) is values
    assert rows.mask is mask


def test_sentence_lengths_that_do_not_add_up_to_the_document_are_refused():
    with pytest.raises(ValueError, match=r"each document, \[3\]; got \[4\]"):
        SentenceRows(torch.tensor([[True, True, True]]), torch.tensor([[2, 2]]))


@pytest.fixture
def states(rows):
    """Encoded sentences with nonzero states in the padding."""
    return torch.randn(*rows.mask.shape, SIZE, dtype=torch.float64)


@pytest.fixture(params=DocumentContext.list_available())
def context(request):
    return DocumentContext.by_name(request.param)(input_size=SIZE).double().eval()


def test_features_have_the_declared_size(context, states, rows):
    assert context(states, rows).shape == (6, 4, context.get_output_dim())


def test_features_do_not_depend_on_the_other_documents(context, states, rows):
    together = rows.join(context(states, rows))
    states = rows.join(states)
    for document, lengths in enumerate(LENGTHS):
        own = slice(document, document + 1)
        alone = SentenceRows(MASK[own], lengths[lengths > 0].unsqueeze(0), WORDS[own])
        # With one sentence, the document's padding remains.
        features = alone.join(context(alone.split(states[own]), alone))
        torch.testing.assert_close(features[0, MASK[document]], together[document, MASK[document]])


def test_features_have_gradients(context, states, rows):
    mask = rows.mask.unsqueeze(2)
    function = lambda states: context(states, rows) * mask  # noqa: E731
    assert torch.autograd.gradcheck(function, states.requires_grad_())


def same_words_one_by_one(context, states, words):
    """The features of a document's tokens, from states (T, D) to (T, D), word by word."""
    found = torch.zeros_like(states)
    for t, word in enumerate(words):
        others = [u for u, other in enumerate(words) if other == word and u != t]
        if others:
            query, keys = context.query(states[t]), context.key(states[others])
            found[t] = (keys @ query / math.sqrt(len(query))).softmax(0) @ states[others]
    return found


def test_same_words_are_a_weighted_mean_of_their_other_occurrences(states, rows):
    context = SameWords(SIZE, size=3).double()
    found, states = rows.join(context(states, rows)), rows.join(states)
    for document, mask, words, features in zip(states, MASK, WORDS, found):
        expected = same_words_one_by_one(context, document[mask], words[mask].tolist())
        torch.testing.assert_close(features[mask], expected)
    # `1` occurs once in the second document.
    assert (found[1, 1] == 0).all()
    assert (found[0, 1] != 0).all()


@pytest.mark.parametrize("pairs", [80, 5, 2])
def test_same_words_of_many_or_long_documents_are_processed_in_parts(
    pairs, states, rows, monkeypatch
):
    context = SameWords(SIZE).double()
    states.requires_grad_()
    expected = context(states, rows)
    wanted = torch.autograd.grad(expected.square().sum(), states)
    monkeypatch.setattr(document_contexts, "_PAIRS_AT_ONCE", pairs)
    found = context(states, rows)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found.square().sum(), states), wanted)


def test_same_words_of_an_empty_document_are_empty(states, monkeypatch):
    monkeypatch.setattr(document_contexts, "_PAIRS_AT_ONCE", 1)
    rows = SentenceRows(MASK, LENGTHS, torch.arange(6).expand(3, 6))
    assert (rows.join(SameWords(SIZE).double()(states, rows)) == 0).all()


def test_same_words_need_the_words(states):
    with pytest.raises(ValueError, match="`word_ids` is missing"):
        SameWords(SIZE)(states, SentenceRows(MASK, LENGTHS))


def test_pooled_states_contain_the_means_of_sentence_and_document(states, rows):
    context = PooledStates(SIZE, size=3).double().eval()
    found = context(states, rows)
    of_documents = rows.join(states)
    for row, (document, mask) in enumerate(zip(rows.documents.tolist(), rows.mask)):
        own = states[row][mask]
        means = torch.cat([own.mean(0), of_documents[document][MASK[document]].mean(0)])
        expected = (context.of_tokens(own) + context.of_means(means)).relu()
        torch.testing.assert_close(found[row][mask], expected)
