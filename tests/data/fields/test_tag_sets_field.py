import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import TextField

from tagger.common.training_counts import LabelCounts
from tagger.data import TagSetsField
from tagger.spans import possible_tags

VOCABULARY = Vocabulary(
    {"labels": {tag: 9 - k for k, tag in enumerate(["O", "B-PER", "I-PER", "L-PER", "U-PER"])}}
)


@pytest.fixture
def field():
    """Of `I-PER ? O` in IOB1: the first token may be B-PER or U-PER."""
    tokens = TextField([Token("Ada"), Token("Lovelace"), Token("left")])
    tag_sets = possible_tags(["I-PER", "?", "O"], "IOB1", "BIOUL", unknown_tag="?")
    return TagSetsField(tag_sets, tokens, unknown_tag="?")


def test_the_tensor_says_which_tags_are_possible(field):
    field.index(VOCABULARY)
    assert field.as_tensor({"num_tokens": 4}).int().tolist() == [
        [0, 1, 0, 0, 1],
        [1, 0, 0, 1, 1],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_labels_that_no_tag_names_are_possible_where_a_tag_is_unknown(field):
    vocabulary = Vocabulary({"labels": {"O": 9, "B-PER": 2, "U-PER": 2, "B-LOC": 1, "U-LOC": 1}})
    field.index(vocabulary)
    names = vocabulary.get_index_to_token_vocabulary("labels")
    assert [
        {names[k] for k, is_possible in enumerate(row) if is_possible}
        for row in field.as_tensor({"num_tokens": 3}).tolist()
    ] == [{"B-PER", "U-PER"}, {"O", "U-PER", "U-LOC"}, {"O"}]


def test_the_vocabulary_gets_the_tags_of_known_labels_but_training_counts_known_tags(field):
    vocabulary = Vocabulary.from_instances([Instance({"tags": field})])
    assert set(vocabulary.get_token_to_index_vocabulary("labels")) == {"O", "B-PER", "U-PER"}
    counts = LabelCounts()
    field.count_labels(counts)
    assert (counts, counts.num_items) == ({"labels": {"O": 1}}, {"labels": 1})


def test_known_tags_and_tags_of_known_labels_come_in_order(field):
    assert field.labels == ["?", "?", "O"]
    assert field.known_tags() == ["O"]
    assert field.tags_of_known_labels() == ["B-PER", "U-PER", "O"]


def test_a_tag_of_a_known_label_that_the_vocabulary_lacks_is_an_error(field):
    with pytest.raises(ValueError, match="`tags` holds 'U-PER', which the vocabulary's namespace"):
        field.index(Vocabulary({"labels": {"O": 2, "B-PER": 1}}))


def test_an_empty_field_is_all_padding(field):
    empty = field.empty_field()
    empty.index(VOCABULARY)
    assert not empty.as_tensor({"num_tokens": 2}).any()


def test_a_field_is_indexed_before_it_is_a_tensor(field):
    with pytest.raises(ConfigurationError, match=r"call `index\(vocabulary\)`"):
        field.as_tensor({"num_tokens": 3})


def test_a_set_for_each_token_is_expected():
    with pytest.raises(ConfigurationError, match="0 and 1"):
        TagSetsField([], TextField([Token("one")]))
