import pytest
from transformers import AutoTokenizer

from tagger.integrations.huggingface import MASKED, UNKNOWN, encode_words, window_size
from tests.integrations.huggingface.backbones import SIZE, load_tokenizer

WORDS = ["ada", "lovelace", "lived", "in", "london", "."]


def test_labels_stand_at_the_first_piece_of_each_word(backbone):
    tokenizer = load_tokenizer(backbone)
    (window,) = encode_words(tokenizer, WORDS[:2], SIZE, [1, UNKNOWN])
    labels = window.inputs["labels"]
    assert len(labels) == len(window.inputs["input_ids"])
    assert [label for label in labels if label != MASKED] == [1, UNKNOWN]
    for piece, (before, after) in zip(window.pieces, [(None, 0), (0, 1)]):
        assert tokenizer(WORDS[:2], is_split_into_words=True).word_ids()[piece] == after
        assert tokenizer(WORDS[:2], is_split_into_words=True).word_ids()[piece - 1] == before


def test_a_long_text_is_split_into_windows_with_context_and_loses_nothing(backbone):
    tokenizer = load_tokenizer(backbone)
    words = ["ada", "in", "a"] * 40
    windows = encode_words(tokenizer, words, SIZE, range(len(words)))
    assert [word for window in windows for word in window.words] == list(range(len(words)))
    given = [label for window in windows for label in window.inputs["labels"] if label != MASKED]
    assert given == list(range(len(words)))
    assert {len(window.inputs["input_ids"]) for window in windows} <= set(range(4, SIZE + 1))
    # Windows in the middle have context on both sides.
    for window in windows[1:-1]:
        assert window.pieces[0] > 1
        assert len(window.inputs["input_ids"]) - window.pieces[-1] > 2


def test_a_word_of_too_many_pieces_is_spread_over_windows(backbone):
    tokenizer = load_tokenizer(backbone)
    windows = encode_words(tokenizer, ["ada", "xy" * 30, "in"], SIZE, [1, 2, 3])
    assert [word for window in windows for word in window.words] == [0, 1, 2]
    assert max(len(window.inputs["input_ids"]) for window in windows) <= SIZE


def test_a_word_without_pieces_is_in_no_window(bert):
    tokenizer = load_tokenizer(bert)
    (window,) = encode_words(tokenizer, ["ada", "\u200b", "in"], SIZE, [1, 2, 3])
    assert window.words == [0, 2]
    assert encode_words(tokenizer, ["\u200b"], SIZE) == []
    assert encode_words(tokenizer, [], SIZE) == []


def test_the_window_size_suits_both_tokenizer_and_model(bert):
    from transformers import AutoConfig

    tokenizer, config = AutoTokenizer.from_pretrained(bert), AutoConfig.from_pretrained(bert)
    assert window_size(tokenizer, config) == SIZE
    tokenizer.model_max_length = 9
    assert window_size(tokenizer, config) == 9


class Slow:
    is_fast = False


@pytest.mark.parametrize(
    ("tokenizer", "arguments", "message"),
    [
        (None, (["ada", "in"], SIZE, [1]), "expected 2 `labels`, one for each word; got 1"),
        (None, (["ada"], 5), "`size` must leave room for 4 pieces .*; got 5"),
        (Slow(), (["ada"], SIZE), "`tokenizer` must be a fast one.*; got Slow"),
    ],
)
def test_errors_name_the_remedy(tokenizer, arguments, message, bert):
    with pytest.raises(ValueError, match=message):
        encode_words(tokenizer or load_tokenizer(bert), *arguments)
