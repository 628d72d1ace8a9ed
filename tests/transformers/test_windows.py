"""Windows cover texts of any length, and states come back to their words."""

import itertools
import random

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from transformers import AutoConfig, AutoModel

from tagger.transformers.pretrained import find_transformer
from tagger.transformers.windows import (
    POOLINGS,
    Window,
    group_sentences,
    kept_states,
    longest_window,
    overlapping_windows,
    padded_lengths,
    pool_pieces,
    windows_of_text,
)
from tagger.transformers.word_pieces import WordPieces


def random_lengths(seed, longest=30):
    draw = random.Random(seed)
    return [draw.randint(1, longest) for _ in range(draw.randint(1, 8))]


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_as_few_and_as_even_as_any(seed):
    lengths, limit = random_lengths(seed), 40
    groups = group_sentences(lengths, limit)
    sizes = [sum(lengths[start:end]) for start, end in groups]
    partitions = []
    for number in range(len(lengths)):
        for cuts in itertools.combinations(range(1, len(lengths)), number):
            borders = [0, *cuts, len(lengths)]
            every = [sum(lengths[a:b]) for a, b in itertools.pairwise(borders)]
            if max(every) <= limit:
                partitions.append((len(every), max(every)))
    assert (len(sizes), max(sizes)) == min(partitions)
    assert [start for start, _ in groups[1:]] == [end for _, end in groups[:-1]]


@pytest.mark.parametrize("num_pieces", [1, 6, 7, 9, 10, 23, 10_000])
@pytest.mark.parametrize("overlap", [0, 2, 5])
def test_each_piece_is_kept_once_with_context_on_both_sides(num_pieces, overlap):
    windows = overlapping_windows(num_pieces, 6, overlap)
    kept = [place for window in windows for place in range(window.first, window.last)]
    assert kept == list(range(num_pieces))
    for window in windows:
        assert window.end - window.start == min(6, num_pieces)
        assert window.first - window.start >= (overlap // 2 if window.start else 0)
        assert window.end - window.last >= (overlap // 2 if window.end < num_pieces else 0)


def test_windows_of_a_text_of_10000_words_cover_it():
    lengths = [7, 30, 10_000, 12, 400, 3]
    windows = windows_of_text(lengths, 250, 64)
    kept = [place for window in windows for place in range(window.first, window.last)]
    assert kept == list(range(sum(lengths)))
    assert max(window.end - window.start for window in windows) == 250


def test_states_return_to_their_pieces(transformer):
    cut = WordPieces(find_transformer(transformer).tokenizer())
    text = list(range(100, 123))
    windows = windows_of_text([4, 5, 14], 9, 4)
    pieces, mask = cut.padded([text[window.start : window.end] for window in windows], 13)
    assert pieces.shape == mask.shape == (len(windows), 13)
    assert pieces[:, 0].tolist() == cut.start_pieces * len(windows)
    assert [row[own][-1].item() for row, own in zip(pieces, mask)] == cut.end_pieces * len(windows)
    assert (pieces[~mask] == cut.padding).all()
    assert kept_states(pieces.unsqueeze(2), windows, 1).flatten().tolist() == text


def test_pooling_is_that_of_a_loop():
    states = torch.randn(9, 2, 3, dtype=torch.float64, requires_grad=True)
    num_pieces = torch.tensor([1, 3, 2, 1, 2])
    parts = states.split(num_pieces.tolist())
    means, firsts = ([part.mean(0) for part in parts], [part[0] for part in parts])
    for pooling, wanted in zip(
        POOLINGS, (means, firsts, [part[-1] for part in parts]), strict=True
    ):
        torch.testing.assert_close(pool_pieces(states, num_pieces, pooling), torch.stack(wanted))
        assert torch.autograd.gradcheck(lambda x, p=pooling: pool_pieces(x, num_pieces, p), states)
    with pytest.raises(ConfigurationError, match="one of mean, first, last"):
        pool_pieces(states, num_pieces, "max")


def test_no_text_has_no_window_and_a_sentence_longer_than_a_window_is_alone():
    assert group_sentences([2, 50, 3], 10) == [(0, 1), (1, 2), (2, 3)]
    assert windows_of_text([], 9, 4) == []
    assert overlapping_windows(0, 9, 4) == []
    assert overlapping_windows(9, 9, 4) == [Window(0, 9, 0, 9)]


LEARNT_POSITIONS = ["albert", "bert", "camembert", "data2vec-text", "distilbert", "electra", "gpt2"]
LEARNT_POSITIONS += ["lilt", "luke", "markuplm", "mpnet", "roberta", "xlm-roberta", "xmod"]


@pytest.mark.parametrize("kind", LEARNT_POSITIONS)
def test_a_window_of_the_longest_size_fits_and_a_longer_one_does_not(kind):
    sizes = {"hidden_size": 24, "intermediate_size": 8, "num_attention_heads": 2, "vocab_size": 30}
    sizes |= {"num_hidden_layers": 1, "max_position_embeddings": 20, "pad_token_id": 1}
    config = AutoConfig.for_model(kind, **sizes)
    if kind == "xmod":
        config.default_language = "en_XX"
    model = AutoModel.from_config(config).eval()
    size = longest_window(config)
    with torch.no_grad():
        assert model(torch.full((1, size), 5)).last_hidden_state.size(1) == size
        with pytest.raises((IndexError, RuntimeError)):
            model(torch.full((1, size + 1), 5))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("t5", {}), ("xlnet", {}), ("deberta-v2", {"position_biased_input": False})],
)
def test_windows_may_be_of_any_size_for_models_that_know_distances_alone(kind, settings):
    assert longest_window(AutoConfig.for_model(kind, **settings)) is None


def test_padded_lengths_depend_on_nothing_but_the_length():
    lengths = np.arange(1, 511)
    padded = padded_lengths(lengths, longest=510)
    assert (padded >= lengths).all()
    assert (padded[lengths > 16] - lengths[lengths > 16]).max() == 3
    assert padded.max() == 510
    assert padded_lengths(np.array([3]), longest=8).tolist() == [8]
