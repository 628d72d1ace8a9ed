import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from tagger.data import LabelSetsField


def make_field(label_sets, **kwargs):
    tokens = [Token(f"word{position}") for position in range(len(label_sets))]
    text = TextField(tokens, {"tokens": SingleIdTokenIndexer()})
    return LabelSetsField(label_sets, text, **kwargs)


def make_instance(label_sets, **kwargs):
    field = make_field(label_sets, **kwargs)
    return Instance({"tokens": field.sequence_field, "tags": field})


def test_the_tensor_says_which_labels_a_token_has_and_which_are_unknown():
    instances = [
        make_instance([["A", "B"], ["A", "?B"], ["?"], []], unknown_tag="?"),
        make_instance([["A"]]),
    ]
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_token_to_index_vocabulary("labels") == {"A": 0, "B": 1}
    batch = Batch(instances)
    batch.index_instances(vocab)
    # Padding is no negative.
    assert batch.as_tensor_dict()["tags"].tolist() == [
        [[1, 1], [1, -1], [-1, -1], [0, 0]],
        [[1, 0], [-1, -1], [-1, -1], [-1, -1]],
    ]


def test_an_empty_field_is_all_padding():
    field = make_field([["A"]]).empty_field()
    field.index(Vocabulary({"labels": {"A": 1}}))
    assert field.as_tensor({"num_tokens": 2}).tolist() == [[-1], [-1]]


def test_without_an_unknown_tag_every_string_is_a_label():
    vocab = Vocabulary.from_instances([make_instance([["?"], ["?B"]])])
    assert vocab.get_token_to_index_vocabulary("labels") == {"?": 0, "?B": 1}


def test_an_unknown_label_that_nothing_else_has_is_left_out():
    instance = make_instance([["A", "?B"]], unknown_tag="?")
    vocab = Vocabulary.from_instances([instance])
    instance.index_fields(vocab)
    assert instance["tags"].as_tensor({"num_tokens": 1}).tolist() == [[1]]


def test_tensors_of_a_field_do_not_share_memory():
    field = make_field([["A"]])
    field.index(Vocabulary({"labels": {"A": 1}}))
    field.as_tensor({"num_tokens": 1}).zero_()
    assert torch.equal(field.as_tensor({"num_tokens": 1}), torch.tensor([[1]]))


@pytest.mark.parametrize(
    ("label_sets", "message"),
    [
        ([[], ["A", ""]], "at position 1 must be labels, or `unknown_tag` alone; an empty string"),
        ([["A", "?"]], "at position 0 must be labels, or `unknown_tag` alone"),
        ([["A", "B", "?B"]], "at position 0 has 'B' both known and unknown"),
    ],
)
def test_sets_that_contradict_themselves_are_refused(label_sets, message):
    with pytest.raises(ValueError, match=message):
        make_field(label_sets, unknown_tag="?")


def test_a_set_for_each_token_is_expected():
    with pytest.raises(ConfigurationError, match="got 2 and 1"):
        LabelSetsField([[], []], TextField([Token("one")]))


def test_a_label_that_the_vocabulary_lacks_is_an_error():
    with pytest.raises(ValueError, match="`tags` holds 'B', which the vocabulary's namespace"):
        make_field([["A", "B"]]).index(Vocabulary({"labels": {"A": 1}}))


def test_a_field_is_indexed_before_it_is_a_tensor():
    with pytest.raises(ConfigurationError, match=r"call `index\(vocabulary\)`"):
        make_field([["A"]]).as_tensor({"num_tokens": 1})
