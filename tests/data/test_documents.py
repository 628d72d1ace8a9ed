import random

import pytest

from tagger.data.documents import cut_document


@pytest.mark.parametrize("seed", range(30))
def test_pieces_keep_all_sentences_in_order_and_fit(seed):
    drawn = random.Random(seed)
    sentences = [[number] * drawn.randint(1, 12) for number in range(drawn.randint(1, 25))]
    pieces = cut_document(sentences, max_tokens=15)
    assert [sentence for piece in pieces for sentence in piece] == sentences
    assert all(sum(map(len, piece)) <= 15 for piece in pieces)


@pytest.mark.parametrize(
    ("sentences", "max_tokens", "pieces"),
    [
        (["aaa", "bb"], 5, [["aaa", "bb"]]),
        # Pieces have similar lengths.
        (["aa"] * 11, 20, [["aa"] * 5, ["aa"] * 6]),
        # A longer sentence stays whole in its own piece.
        (["aaaaaaaa"], 4, [["aaaaaaaa"]]),
        (["aa", "aaaaaaaa", "aa", "aa"], 4, [["aa"], ["aaaaaaaa"], ["aa"], ["aa"]]),
    ],
)
def test_a_document_is_split_only_where_necessary(sentences, max_tokens, pieces):
    assert cut_document(sentences, max_tokens) == pieces
