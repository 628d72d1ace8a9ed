"""Words are cut as inside a sentence, and each has a piece."""

import pickle

import pytest

from tagger.transformers import word_pieces
from tagger.transformers.pretrained import find_transformer
from tagger.transformers.word_pieces import WordPieces
from tests.transformers.small import save_bpe, save_word_pieces

WORDS = ["The", "London", "bank", ",", "said", "xylophone", "the", "1999", "Zürich-"]


@pytest.fixture
def tokenizer(transformer):
    return find_transformer(transformer).tokenizer()


def test_words_are_cut_as_inside_a_sentence(tokenizer):
    cut = WordPieces(tokenizer)
    pieces, numbers = cut.joined(WORDS)
    whole = tokenizer(WORDS, is_split_into_words=True)
    assert [*cut.start_pieces, *pieces, *cut.end_pieces] == whole["input_ids"]
    of_words = [word for word in whole.word_ids() if word is not None]
    assert numbers == [of_words.count(index) for index in range(len(WORDS))]


def test_words_without_a_piece_get_the_unknown_one(tmp_path):
    cut = WordPieces(find_transformer(save_word_pieces(tmp_path / "tiny")).tokenizer())
    unknown = cut._tokenizer.unk_token_id
    assert cut(["\u200b", "said", ""]) == [[unknown], cut(["said"])[0], [unknown]]
    # Halves of characters are no error.
    assert all(cut(["a\ud83d", "b"]))


def test_pieces_are_remembered_up_to_a_number_of_words(tmp_path, monkeypatch):
    monkeypatch.setattr(word_pieces, "MAX_WORDS", 2)
    cut = WordPieces(find_transformer(save_bpe(tmp_path / "tiny")).tokenizer())
    wanted = [cut([word])[0] for word in WORDS]
    assert cut(WORDS[:3]) == wanted[:3]
    assert [cut([word])[0] for word in WORDS] == wanted
    assert pickle.loads(pickle.dumps(cut))(WORDS) == wanted
