from collections import defaultdict

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField

from tagger.data.token_indexers.word_forms import WordFormsIndexer
from tagger_texts.words import word_forms, word_hash


def instance_of(*words, **options):
    text = TextField([Token(word) for word in words], {"words": WordFormsIndexer(**options)})
    return Instance({"tokens": text})


def vocabulary_of(*instances):
    vocab = Vocabulary.from_instances(instances)
    for instance in instances:
        instance.index_fields(vocab)
    return vocab


def test_a_word_is_looked_up_as_written_then_in_lowercase_then_without_digits():
    assert word_forms("Room-12B", lowercase=False) == ("Room-12B", "room-12b", "room-00b")
    assert word_forms("Room-12B", lowercase=True) == ("room-12b", "room-12b", "room-00b")


def test_hashes_are_the_same_in_every_process_and_for_any_text():
    assert word_hash("the") == 3331141520948189790
    assert len({word_hash(word) for word in ("", "a", "A", "ä", "\ud800", "中文")}) == 6


@pytest.mark.parametrize("lowercase", [False, True])
def test_the_vocabulary_counts_a_word_and_its_form_without_digits(lowercase):
    vocab = vocabulary_of(instance_of("Room", "12", "34", lowercase=lowercase))
    first = {"room", "12", "34", "00"} if lowercase else {"Room", "room", "12", "34", "00"}
    words = set(vocab.get_token_to_index_vocabulary("tokens"))
    assert words - {"@@PADDING@@", "@@UNKNOWN@@"} == first


def test_batches_hold_indices_and_hashes_padded_with_zeros():
    instances = [instance_of("Oslo", "1996"), instance_of("Rome")]
    vocab = vocabulary_of(*instances)
    batch = Batch(instances).as_tensor_dict()["tokens"]["words"]
    names = vocab.get_token_from_index
    assert [[[*map(names, word)] for word in row] for row in batch["indices"].tolist()] == [
        [["Oslo", "oslo", "oslo"], ["1996", "1996", "0000"]],
        [["Rome", "rome", "rome"], ["@@PADDING@@"] * 3],
    ]
    assert batch["hashes"][0, 1].tolist() == [word_hash(form) for form in ("1996", "1996", "0000")]
    assert torch.equal(batch["hashes"][1, 1], torch.zeros(3, dtype=torch.int64))


def test_a_text_without_tokens_is_indexed():
    instances = [instance_of(), instance_of("Rome")]
    vocabulary_of(*instances)
    batch = Batch(instances).as_tensor_dict()["tokens"]["words"]
    assert batch["indices"].shape == batch["hashes"].shape == (2, 1, 3)


def test_the_vocabulary_has_the_same_order_in_every_process():
    words = [f"{letter}x" for letter in "ABCDEFGHIJ"]
    vocab = vocabulary_of(instance_of(*words))
    forms = list(vocab.get_token_to_index_vocabulary("tokens"))[2:]
    assert forms == [form for word in words for form in (word, word.lower())]


def test_the_indexer_of_lexicons_gives_hashes_and_counts_no_words():
    indexer = TokenIndexer.from_params(Params({"type": "lexicon"}))
    counter = defaultdict(lambda: defaultdict(int))
    indexer.count_vocab_items(Token("Lima"), counter)
    assert not counter
    indexed = indexer.tokens_to_indices([Token("Lima")], Vocabulary())
    hashes = tuple(map(word_hash, word_forms("Lima", lowercase=False)))
    assert indexed == {"indices": [(1, 1, 1)], "hashes": [hashes]}
