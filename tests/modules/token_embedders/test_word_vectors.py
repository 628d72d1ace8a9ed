import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary

from tagger.data.token_indexers.word_forms import WordFormsIndexer
from tagger.modules.token_embedders.hash_table import VectorTable
from tagger.modules.token_embedders.word_vectors import WordVectors
from tagger_texts.words import word_hash

LINES = ["the 1 2 3", "oslo 4 5 6", "Oslo 7 8 9", "00 1.5 0 0", "new york 2 2 2", "the 9 9 9"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def vocab():
    return Vocabulary(tokens_to_add={"tokens": ["the", "kept", "77"]})


@pytest.fixture
def embedder(file, vocab):
    return WordVectors(3, vocab, file)


def embedded(embedder, vocab, *words):
    indexer = WordFormsIndexer()
    indexed = indexer.tokens_to_indices([Token(word) for word in words], vocab)
    tensors = {name: torch.tensor([rows]) for name, rows in indexed.items()}
    return embedder(**tensors)[0]


def test_words_of_the_vocabulary_are_initialised_with_their_vectors(embedder, vocab):
    assert embedded(embedder, vocab, "the").tolist() == [[1, 2, 3]]
    weight = embedder.trained.weight
    assert weight.shape == (5, 3)
    assert not weight[0].any()
    assert weight[1].any()


def test_any_other_word_of_the_file_keeps_its_vector(embedder, vocab):
    vectors = embedded(embedder, vocab, "Oslo", "oslo", "OSLO", "new york")
    assert vectors.tolist() == [[7, 8, 9], [4, 5, 6], [4, 5, 6], [2, 2, 2]]
    assert not any(name.startswith("table") for name, _ in embedder.named_parameters())


def test_each_vector_is_kept_once(embedder, vocab):
    # One of the five words, `the`, is in the vocabulary.
    assert embedder.table.rows.shape == (4, 3)
    assert embedder.table.find(torch.tensor([word_hash("the")])).tolist() == [-1]
    assert (embedder.table.hashes.diff() > 0).all()


def test_a_word_is_looked_up_with_zeros_for_digits_before_it_is_unknown(embedder, vocab):
    number, known, unknown = embedded(embedder, vocab, "42", "77", "nowhere")
    assert number.tolist() == [1.5, 0, 0]
    assert torch.equal(known, embedder.trained.weight[vocab.get_token_index("77")])
    assert torch.equal(unknown, embedder.trained.weight[1])


def test_only_vectors_of_the_vocabulary_get_gradients(embedder, vocab):
    embedded(embedder, vocab, "the", "Oslo", "nowhere").sum().backward()
    trained = embedder.trained.weight.grad.any(dim=1).nonzero().flatten().tolist()
    assert trained == [1, vocab.get_token_index("the")]


def test_without_the_file_a_model_uses_the_vectors_of_its_archive(file, vocab):
    saved, loaded = WordVectors(3, vocab, file), WordVectors(3, vocab)
    loaded.load_state_dict(saved.state_dict())
    words = ("the", "Oslo", "42", "nowhere")
    assert torch.equal(embedded(loaded, vocab, *words), embedded(saved, vocab, *words))
    assert loaded.table.rows.dtype == torch.float16


def test_without_a_file_only_the_vocabulary_has_vectors(vocab):
    embedder = WordVectors(3, vocab)
    vectors = embedded(embedder, vocab, "kept", "Oslo")
    assert torch.equal(vectors, embedder.trained.weight[[vocab.get_token_index("kept"), 1]])


def test_word_dropout_makes_words_unknown_only_in_training(file, vocab):
    embedder = WordVectors(3, vocab, file, word_dropout=0.5)
    words = ["the", "Oslo"] * 200
    is_unknown = (embedded(embedder, vocab, *words) == embedder.trained.weight[1]).all(dim=1)
    assert 120 < is_unknown.sum() < 280
    embedder.eval()
    assert not (embedded(embedder, vocab, *words) == embedder.trained.weight[1]).all(dim=1).any()


def test_evaluation_counts_words_without_a_vector(embedder, vocab):
    embedded(embedder, vocab, "nowhere")
    assert embedder.share_unknown(reset=False) is None
    embedder.eval()
    embedded(embedder, vocab, "the", "nowhere", "Oslo", "42")
    assert embedder.share_unknown(reset=True) == 0.25
    assert embedder.share_unknown(reset=True) is None


def test_the_first_line_of_word2vec_is_skipped(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("2 3\na 1 2 3\nb 4 5 6\n")
    table = VectorTable(3)
    table.read(path)
    assert len(table) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2 3\nb 4 5\n", "vectors.txt:2: expected a word and 3 numbers, got 2"),
        ("", "vectors.txt: expected word vectors, got an empty file"),
        ("a 1 2 3\nb 1 x 3\n", "vectors.txt:2: expected a word and its numbers; .*'x'"),
        ("a 1 2 nan\n", "vectors.txt:1: expected finite numbers"),
        ("a 1 2 1e6\n", "vectors.txt:1: expected finite numbers below 65,504"),
    ],
)
def test_malformed_lines_are_refused_with_their_place(text, message, tmp_path, vocab):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        WordVectors(3, vocab, str(path))
