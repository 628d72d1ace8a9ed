"""Features equal those of the transformer run by itself, whatever the batch and the length."""

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tagger.transformers import word_features
from tagger.transformers.pretrained import find_transformer
from tagger.transformers.windows import POOLINGS, Passage, overlapping_windows, passages_of
from tagger.transformers.word_features import WordFeatures
from tagger.transformers.word_pieces import WordPieces
from tests.transformers.small import save_bpe, save_word_pieces

CPU = torch.device("cpu")
SENTENCES = [["London", "said", "the", "xylophone"], ["the"], ["a", "b", "12345", "."]]


@pytest.fixture(autouse=True)
def _in_float32(monkeypatch):
    compute_in("float32", monkeypatch)


def compute_in(precision, monkeypatch):
    monkeypatch.setattr(word_features, "precision_of_frozen", lambda *_: precision)


def passage_of(cut, words):
    pieces, numbers = cut.joined(words)
    return Passage(np.array(pieces, dtype=np.int32), np.array(numbers, dtype=np.int32))


def run_alone(found, cut, pieces):
    """All hidden states of pieces, (P, H, D)."""
    ids = torch.tensor([[*cut.start_pieces, *pieces, *cut.end_pieces]])
    with torch.no_grad():
        states = found.model()(input_ids=ids, output_hidden_states=True).hidden_states
    margin = len(cut.start_pieces)
    return torch.stack(states, 2)[0, margin : margin + len(pieces)]


POOLED = {
    "mean": lambda each: each.mean(0),
    "first": lambda each: each[0],
    "last": lambda each: each[-1],
}


@pytest.mark.parametrize("pooling", POOLINGS)
def test_features_are_the_transformers_states(transformer, pooling):
    found = find_transformer(transformer)
    cut = WordPieces(found.tokenizer())
    features = WordFeatures(found, None, pooling, 100, 10)
    passages = [passage_of(cut, words) for words in SENTENCES]
    mix = torch.tensor([0.5, 0.2, 0.4])
    raw, mixed = dict(features.compute(passages, CPU)), dict(features.compute(passages, CPU, mix))
    for index, words in enumerate(SENTENCES):
        alone = run_alone(found, cut, passages[index].pieces.tolist())
        parts = alone.split(passages[index].num_pieces.tolist())
        wanted = torch.stack([POOLED[pooling](part) for part in parts])
        assert raw[index].shape == (len(words), 3, 8)
        torch.testing.assert_close(raw[index], wanted, atol=1e-5, rtol=1e-5)
        mean = torch.einsum("whd,h->wd", wanted, mix)
        torch.testing.assert_close(mixed[index], mean, atol=1e-5, rtol=1e-5)
        two = dict(WordFeatures(found, [-1, 0], pooling, 100, 10).compute(passages, CPU))
        assert torch.equal(two[index], raw[index][:, [2, 0]])


@pytest.mark.parametrize("num_words", [31, 10_000])
def test_a_long_text_is_read_in_windows_to_its_end(tmp_path, num_words):
    found = find_transformer(save_bpe(tmp_path / "tiny"))
    cut = WordPieces(found.tokenizer())
    passage = passage_of(cut, [f"word{index % 7}" for index in range(num_words)])
    features = WordFeatures(found, [1], "mean", 60, 20)
    ((_, got),) = features.compute([passage], CPU)
    assert got.shape == (num_words, 1, 8)
    windows = overlapping_windows(len(passage.pieces), 60, 20)
    assert len(windows) > 1
    ends = passage.num_pieces.cumsum()
    for window in (windows[0], windows[len(windows) // 2], windows[-1]):
        states = run_alone(found, cut, passage.pieces[window.start : window.end].tolist())[:, 1]
        inside = (ends - passage.num_pieces >= window.first) & (ends <= window.last)
        word = int(inside.nonzero()[0][-1])
        start, end = (int(ends[word]) - int(passage.num_pieces[word]), int(ends[word]))
        wanted = states[start - window.start : end - window.start].mean(0)
        torch.testing.assert_close(got[word, 0], wanted, atol=1e-5, rtol=1e-5)


def test_passages_differ_in_their_keys(tmp_path):
    pieces, numbers = np.arange(4, dtype=np.int32), np.array([1, 3], dtype=np.int32)
    passage = Passage(pieces, numbers)
    assert passage.key() == Passage(pieces.copy(), numbers.copy()).key()
    assert passage.key() != Passage(pieces, numbers[::-1].copy()).key()
    assert passage.key() != Passage(pieces[::-1].copy(), numbers).key()
    both = list(passages_of(np.append(pieces, [9, 0]), np.array([1, 3, 1, 0]), [2, 1, 0]))
    assert [each.pieces.tolist() for each in both] == [[0, 1, 2, 3], [9]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": [3]}, "`layers` must be from 0, the embeddings, to 2"),
        ({"layers": []}, "`layers` must be"),
        ({"pooling": "max"}, "`pooling` must be one of mean, first, last; got 'max'"),
        ({"precision": "int8"}, "`precision` must be one of float32, bfloat16, auto; got 'int8'"),
        ({"overlap": 100}, "`overlap` must be at least 0 and below `max_pieces`"),
        ({"max_pieces": 0}, "`max_pieces` must be at least 1"),
        ({"max_pieces": 511}, "`max_pieces` must be at most 510"),
    ],
)
def test_impossible_arguments_are_refused(transformer, arguments, message):
    found = find_transformer(transformer)
    given = {"layers": None, "pooling": "mean", "max_pieces": 100, "overlap": 10, **arguments}
    with pytest.raises(ConfigurationError, match=message):
        WordFeatures(found, **given)


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_other_precisions_are_near_float32(tmp_path, monkeypatch, precision):
    found = find_transformer(save_word_pieces(tmp_path / "tiny"))
    passages = [passage_of(WordPieces(found.tokenizer()), words) for words in SENTENCES]
    features = WordFeatures(found, None, "mean", 100, 10)
    exact, before = features.compute(passages, CPU), features.settings(CPU)
    compute_in(precision, monkeypatch)
    assert features.settings(CPU) != before
    for (_, wanted), (_, got) in zip(exact, features.compute(passages, CPU), strict=True):
        assert got.dtype == torch.float32
        assert not torch.equal(got, wanted)
        torch.testing.assert_close(got, wanted, atol=0.1, rtol=0.1)


def test_batches_at_the_same_time_change_nothing(transformer, monkeypatch, num_threads):
    found = find_transformer(transformer)
    cut = WordPieces(found.tokenizer())
    monkeypatch.setitem(word_features._BATCH_PIECES, "cpu", 8)
    passages = [passage_of(cut, words) for words in SENTENCES * 3]
    features = WordFeatures(found, None, "mean", 100, 10)
    alone = features.compute(passages, CPU)
    together = features.compute(passages, CPU, batches_at_once=3)
    assert sorted(index for index, _ in together) == list(range(len(passages)))
    for (index, wanted), (other, got) in zip(alone, together, strict=True):
        assert index == other
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_features_do_not_depend_on_what_else_is_computed(transformer, monkeypatch, precision):
    compute_in(precision, monkeypatch)
    draw = np.random.default_rng(0)
    lengths = [*range(1, 40), 63, 64, 99, 100, 101, 230, *draw.integers(1, 60, 40)]
    pieces = [draw.integers(5, 30, length, dtype=np.int32) for length in lengths]
    passages = [Passage(own, np.ones(len(own), np.int32)) for own in pieces]
    features = WordFeatures(find_transformer(transformer), None, "mean", 100, 10)
    mix = torch.tensor([0.5, 0.2, 0.4])
    alone = [features.compute([each], CPU, mix)[0][1] for each in passages]
    for size in (2, 7, len(passages)):
        for indices in np.array_split(draw.permutation(len(passages)), len(passages) // size):
            together = features.compute([passages[index] for index in indices], CPU, mix)
            assert all(torch.equal(states, alone[indices[place]]) for place, states in together)
