import random

import pytest

from tagger.data.documents import cut_document, word_ids


@pytest.mark.parametrize("seed", range(30))
def test_pieces_keep_all_sentences_in_order_and_fit(seed):
    drawn = random.Random(seed)
    sentences = [[number] * drawn.randint(1, 12) for number in range(drawn.randint(1, 25))]
    pieces = cut_document(sentences, max_tokens=15)
    assert [sentence for piece in pieces for sentence in piece] == sentences
    assert all(sum(map(len, piece)) <= 15 for piece in pieces)


def test_a_document_that_fits_stays_whole():
    assert cut_document(["aaa", "bb"], max_tokens=5) == [["aaa", "bb"]]


def test_pieces_are_of_like_length():
    pieces = cut_document(["aa"] * 11, max_tokens=20)
    assert [len(piece) for piece in pieces] == [5, 6]


@pytest.mark.parametrize("sentences", [["aaaaaaaa"], ["aa", "aaaaaaaa", "aa", "aa"]])
def test_a_sentence_that_does_not_fit_stays_whole_by_itself(sentences):
    pieces = cut_document(sentences, max_tokens=4)
    assert ["aaaaaaaa"] in pieces
    assert [sentence for piece in pieces for sentence in piece] == sentences


def test_words_are_numbered_by_their_lowercase():
    assert word_ids(["Bank", "of", "BANK", "bank", "Of"]) == [0, 1, 0, 0, 1]
