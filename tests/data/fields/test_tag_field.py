import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from tagger.data import TagField


def make_field(tags, **kwargs):
    tokens = [Token(f"word{position}") for position in range(len(tags))]
    return TagField(tags, TextField(tokens, {"tokens": SingleIdTokenIndexer()}), **kwargs)


def make_instance(tags, **kwargs):
    field = make_field(tags, **kwargs)
    return Instance({"tokens": field.sequence_field, "tags": field})


def test_unknown_tags_are_not_counted_and_have_index_minus_one():
    instances = [make_instance(["O", "?", "B-PER"], unknown_tag="?"), make_instance(["O"])]
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_token_to_index_vocabulary("labels") == {"O": 0, "B-PER": 1}
    batch = Batch(instances)
    batch.index_instances(vocab)
    # The second row is padded with 0: a mask, not the tags, says where a sentence ends.
    assert batch.as_tensor_dict()["tags"].tolist() == [[0, -1, 1], [0, 0, 0]]


def test_without_an_unknown_tag_every_string_is_a_tag():
    vocab = Vocabulary.from_instances([make_instance(["O", "?", "O"])])
    assert vocab.get_token_to_index_vocabulary("labels") == {"O": 0, "?": 1}


def test_the_namespace_is_configurable():
    field = make_field(["NN", "?"], label_namespace="pos_tags", unknown_tag="?")
    vocab = Vocabulary({"pos_tags": {"NN": 1}})
    field.index(vocab)
    assert field.as_tensor(field.get_padding_lengths()).tolist() == [0, -1]


def test_as_many_tags_as_tokens_are_expected():
    tokens = TextField([Token("one")])
    with pytest.raises(ConfigurationError, match="2 and 1"):
        TagField(["O", "O"], tokens)


def test_a_tag_that_the_vocabulary_lacks_is_an_error_that_says_what_to_do():
    field = make_field(["O", "?", "U-LOC"], label_namespace="ner_tags", unknown_tag="?")
    with pytest.raises(ValueError, match="`tags` holds 'U-LOC'") as error:
        field.index(Vocabulary({"ner_tags": {"O": 2, "B-PER": 1}}))
    assert "namespace `ner_tags` lacks" in str(error.value)
    assert "(they had O, B-PER)" in str(error.value)
    assert "`vocabulary`: {tokens_to_add: {ner_tags: ['U-LOC']}}" in str(error.value)
