import itertools
import random

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary
from tokenizers import ByteLevelBPETokenizer
from transformers import PreTrainedTokenizerFast

from tagger.data.documents import DocumentTokens
from tagger.transformers.transformer_indexer import TransformerIndexer
from tests.transformers.small import LETTERS, save_bert, save_roberta


def random_words(number, seed=0):
    draw = random.Random(seed)
    return ["".join(draw.choices(LETTERS, k=draw.randint(1, 9))) for _ in range(number)]


@pytest.fixture
def indexer_of(tmp_path):
    def make(save=save_bert, **options):
        return TransformerIndexer(save(tmp_path / save.__name__), **options)

    return make


def indexed(indexer, words):
    return indexer.tokens_to_indices([Token(word) for word in words], Vocabulary())


def windows(indices):
    """The pieces of each window, and which of them are kept."""
    begin = 0
    for length in indices["window_lengths"]:
        yield tuple(indices[name][begin : begin + length] for name in ("pieces", "is_kept"))
        begin += length


@pytest.mark.parametrize("save", [save_bert, save_roberta])
def test_a_short_text_is_read_as_its_tokenizer_reads_it(save, indexer_of):
    indexer = indexer_of(save)
    words = ["the", "cat", "x", "the"]
    expected = indexer.tokenizer(words, is_split_into_words=True)
    indices = indexed(indexer, words)
    assert indices["pieces"] == expected["input_ids"]
    places = expected.word_ids()
    assert indices["is_kept"] == [place is not None for place in places]
    assert indices["num_pieces"] == [places.count(word) for word in range(4)]


@pytest.mark.parametrize("number", [1, 5, 100, 10_000])
def test_each_piece_of_a_text_of_any_length_is_kept_once(number, indexer_of):
    indexer = indexer_of(max_pieces=20, overlap=6)
    words = random_words(number)
    indices = indexed(indexer, words)
    kept = []
    for pieces, is_kept in windows(indices):
        assert len(pieces) <= 22
        assert pieces[0] == 2
        assert pieces[-1] == 3
        kept += [piece for piece, own in zip(pieces, is_kept) if own]
    assert kept == [piece for word in indexer.word_pieces(words) for piece in word]
    assert sum(indices["num_pieces"]) == len(kept)
    assert len(indices["mask"]) == number


def test_windows_of_a_document_do_not_cut_its_sentences(indexer_of):
    indexer = indexer_of(max_pieces=20, overlap=6)
    document = [[Token(word) for word in random_words(3, seed)] for seed in range(9)]
    indices = indexer.tokens_to_indices(DocumentTokens(document, 2, 7), Vocabulary())
    sentences = [
        [piece for word in indexer.word_pieces([t.text for t in sentence]) for piece in word]
        for sentence in document[2:7]
    ]
    own = [pieces[1:-1] for pieces, _ in windows(indices)]
    assert 1 < len(own) < 5
    ends = set(itertools.accumulate(map(len, sentences)))
    assert ends >= set(itertools.accumulate(map(len, own)))
    assert sum(own, []) == sum(sentences, [])


def test_a_word_has_a_blank_before_it_whatever_the_class_of_the_tokenizer(indexer_of, tmp_path):
    own = indexer_of(save_roberta)
    expected = own.word_pieces(["the", "cat"])
    folder = tmp_path / "save_roberta"
    backend = ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    for path in folder.glob("*token*.json"):
        path.unlink()
    PreTrainedTokenizerFast(tokenizer_object=backend._tokenizer).save_pretrained(folder)
    indexer = TransformerIndexer(str(folder))
    assert type(indexer.tokenizer) is not type(own.tokenizer)
    assert indexer.word_pieces(["the", "cat"]) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_pieces": 0}, "`max_pieces` must be at least 1; got 0"),
        ({"overlap": 250}, r"below `max_pieces` \(250\); got 250"),
        ({"overlap": -1}, "`overlap` must be at least 0"),
    ],
)
def test_impossible_sizes_are_refused(options, message, indexer_of):
    with pytest.raises(ConfigurationError, match=message):
        indexer_of(**options)
