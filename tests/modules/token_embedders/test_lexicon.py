import logging

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary

from tagger.data.token_indexers.word_forms import WordFormsIndexer
from tagger.modules.token_embedders.lexicon import Lexicon

PLACES = ".SBIE"
LISTS = {
    "places": ["New York", "York", "New York City", "Lake Constance", "Ulm"],
    "names": ["Ada", "Ada King", "King", "York"],
}


@pytest.fixture
def folder(tmp_path):
    for name, terms in LISTS.items():
        (tmp_path / f"{name}.txt").write_text("\n".join([*terms, "", "Ada"]) + "\n")
    (tmp_path / "places.txt").write_text("\n".join(LISTS["places"]))
    return tmp_path


def marked(embedder, *texts):
    """The positions in terms, one string for each text and list."""
    indexer, vocab = WordFormsIndexer(), Vocabulary()
    width = max(len(text.split()) for text in texts)
    batch = []
    for text in texts:
        indexed = indexer.tokens_to_indices([Token(word) for word in text.split()], vocab)
        batch.append(indexer.as_padded_tensor_dict(indexed, {"indices": width, "hashes": width}))
    tensors = {name: torch.stack([each[name] for each in batch]) for name in batch[0]}
    features = embedder(**tensors).unflatten(2, (-1, 4))
    assert features.sum(3).max() <= 1
    places = (features * torch.arange(1, 5)).sum(3).long()
    return [
        ["".join(PLACES[place] for place in row[: len(text.split()), each]) for each in range(2)]
        for text, row in zip(texts, places)
    ]


@pytest.mark.parametrize(
    ("text", "places", "names"),
    [
        ("I saw Ulm", "..S", "..."),
        ("New York City is not York", "BIE..S", ".S...S"),
        ("New York , New", "BE..", ".S.."),
        ("Ada King of Lake Constance", "...BE", "BE..."),
        ("new york", "..", ".."),
        ("King", ".", "S"),
    ],
)
def test_the_longest_term_covering_a_token_counts(folder, text, places, names):
    assert marked(Lexicon(["places", "names"], str(folder)), text) == [[places, names]]


def test_in_lowercase_terms_are_found_in_any_case(folder):
    embedder = Lexicon(["places", "names"], str(folder), lowercase=True)
    assert marked(embedder, "NEW york") == [["BE", ".S"]]


def test_padding_is_not_part_of_a_term(folder):
    embedder = Lexicon(["places", "names"], str(folder))
    assert marked(embedder, "New", "in New York City") == [[".", "."], [".BIE", "..S."]]


def test_among_equally_long_terms_the_first_counts(tmp_path):
    (tmp_path / "a.txt").write_text("x y\ny z\n")
    (tmp_path / "b.txt").write_text("other\n")
    assert marked(Lexicon(["a", "b"], str(tmp_path)), "x y z") == [["BEE", "..."]]


def test_without_the_lists_a_model_uses_those_of_its_archive(folder):
    saved = Lexicon(["places", "names"], str(folder))
    loaded = Lexicon(["places", "names"])
    assert loaded.get_output_dim() == saved.get_output_dim() == 8
    assert marked(loaded, "Ada King of Ulm") == [["....", "...."]]
    loaded.load_state_dict(saved.state_dict())
    assert marked(loaded, "Ada King of Ulm") == [["...S", "BE.."]]


def test_too_long_terms_are_left_out_with_a_warning(folder, caplog):
    with caplog.at_level(logging.WARNING):
        embedder = Lexicon(["places", "names"], str(folder), max_length=2)
    assert "places.txt: left out 1 terms of more than 2 words" in caplog.text
    assert marked(embedder, "New York City") == [["BE.", ".S."]]


@pytest.mark.parametrize(
    ("names", "content", "error", "message"),
    [
        ([], b"Ada\n", ConfigurationError, "`names` must be the names of lists, each once"),
        (["a", "a"], b"Ada\n", ConfigurationError, "`names` must be the names of lists, each once"),
        (["a"], b"\n", ConfigurationError, "a.txt: expected a term on each line"),
        (["drugs"], b"Ada\n", FileNotFoundError, "drugs.txt"),
        (["a"], b"Ada\nJos\xe9\n", ValueError, r"a.txt:2: expected UTF-8, got byte 0xe9"),
    ],
)
def test_unreadable_lists_are_refused(names, content, error, message, tmp_path):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(error, match=message):
        Lexicon(names, str(tmp_path))
