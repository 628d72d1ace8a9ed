"""The fields for tags, sets of tags, sets of labels and document labels."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from tagger.common.training_counts import LabelCounts
from tagger.data import LabelSetsField, TagField, TagSetsField
from tagger.data.fields.label_sets_field import DocumentLabelsField
from tagger.data.fields.soft_labels_field import SoftLabelsField
from tagger.spans import possible_tags


def text_of(num_tokens):
    return TextField([Token("word")] * num_tokens, {"tokens": SingleIdTokenIndexer()})


def tags_of(*tags, **kwargs):
    return TagField(list(tags), text_of(len(tags)), **kwargs)


def label_sets_of(*label_sets, **kwargs):
    return LabelSetsField(label_sets, text_of(len(label_sets)), **kwargs)


@pytest.fixture
def tag_sets():
    """The field of `I-PER ? O` in IOB1, in which the first token may be B-PER or U-PER."""
    found = possible_tags(["I-PER", "?", "O"], "IOB1", "BIOUL", unknown_tag="?")
    return TagSetsField(found, text_of(3), unknown_tag="?")


def batch_of(*fields):
    """Returns the vocabulary and the batch of some fields."""
    instances = [Instance({"tokens": field.sequence_field, "tags": field}) for field in fields]
    vocab, batch = Vocabulary.from_instances(instances), Batch(instances)
    batch.index_instances(vocab)
    return vocab.get_token_to_index_vocabulary("labels"), batch.as_tensor_dict()["tags"].tolist()


def test_unknown_tags_are_not_counted_and_have_index_minus_one():
    vocabulary, batch = batch_of(tags_of("O", "?", "B-PER", unknown_tag="?"), tags_of("O"))
    assert vocabulary == {"O": 0, "B-PER": 1}
    # The second row is padded with 0. The mask, not the tags, marks the end of a sentence.
    assert batch == [[0, -1, 1], [0, 0, 0]]


def test_the_tensor_marks_a_tokens_labels_and_unknown_labels():
    sets = label_sets_of(["A", "B"], ["A", "?B"], ["?"], [], unknown_tag="?")
    vocabulary, batch = batch_of(sets, label_sets_of(["A"]))
    assert vocabulary == {"A": 0, "B": 1}
    # Padding does not count as a negative.
    assert batch == [[[1, 1], [1, -1], [-1, -1], [0, 0]], [[1, 0], [-1, -1], [-1, -1], [-1, -1]]]


def test_the_tensor_marks_the_possible_tags_of_all_labels(tag_sets):
    tags = ["O", "B-PER", "I-PER", "L-PER", "U-PER", "B-LOC", "U-LOC"]
    tag_sets.index(Vocabulary({"labels": {tag: 9 - k for k, tag in enumerate(tags)}}))
    rows = tag_sets.as_tensor({"num_tokens": 4}).tolist()
    assert [[tag for tag, is_possible in zip(tags, row) if is_possible] for row in rows] == [
        ["B-PER", "U-PER"], ["O", "L-PER", "U-PER", "U-LOC"], ["O"], []
    ]  # fmt: skip


def test_the_vocabulary_has_all_tags_of_known_labels_and_only_known_tags_are_counted(tag_sets):
    assert (tag_sets.labels, tag_sets.known_tags()) == (["?", "?", "O"], ["O"])
    # The order is fixed, because the indices depend on it.
    assert tag_sets.tags_of_known_labels() == ["B-PER", "U-PER", "O"]
    assert set(batch_of(tag_sets)[0]) == {"O", "B-PER", "U-PER"}
    counts = LabelCounts()
    tag_sets.count_labels(counts)
    assert (counts, counts.num_items) == ({"labels": {"O": 1}}, {"labels": 1})


def test_without_an_unknown_tag_every_string_is_a_tag_or_a_label():
    assert batch_of(tags_of("O", "?", "O"))[0] == {"O": 0, "?": 1}
    assert batch_of(label_sets_of(["?"], ["?B"]))[0] == {"?": 0, "?B": 1}
    # A label that is unknown everywhere is left out.
    assert batch_of(label_sets_of(["A", "?B"], unknown_tag="?"))[1] == [[[1]]]


def test_tensors_of_a_field_do_not_share_memory():
    field = label_sets_of(["A"])
    field.index(Vocabulary({"labels": {"A": 1}}))
    field.as_tensor({"num_tokens": 1}).zero_()
    assert torch.equal(field.as_tensor({"num_tokens": 1}), torch.tensor([[1]]))


def test_an_empty_field_is_all_padding_and_a_tensor_once_it_is_indexed(tag_sets):
    for field, padding in ((label_sets_of(["A"]), -1), (tag_sets, 0)):
        empty = field.empty_field()
        with pytest.raises(ConfigurationError, match=r"call `index\(vocabulary\)`"):
            empty.as_tensor({"num_tokens": 2})
        empty.index(Vocabulary({"labels": {"A": 1}}))
        assert empty.as_tensor({"num_tokens": 2}).tolist() == [[padding], [padding]]


@pytest.mark.parametrize(
    ("label_sets", "message"),
    [
        ([[], ["A", ""]], "at position 1 must be labels, or `unknown_tag` alone; an empty string"),
        ([["A", "?"]], "at position 0 must be labels, or `unknown_tag` alone"),
        ([["A", "B", "?B"]], "at position 0 has 'B' both known and unknown"),
    ],
)
def test_contradictory_sets_and_fields_of_the_wrong_length_are_refused(label_sets, message):
    with pytest.raises(ValueError, match=message):
        label_sets_of(*label_sets, unknown_tag="?")
    for kind in (TagField, TagSetsField, LabelSetsField):
        with pytest.raises(ConfigurationError, match="0 and 1"):
            kind([], text_of(1))


def test_tags_missing_from_the_vocabulary_are_named_with_a_remedy(tag_sets):
    tags = tags_of("O", "?", "U-LOC", label_namespace="ner_tags", unknown_tag="?")
    document = DocumentLabelsField(["wheat", "rye"])
    for field, namespace, known, *said in (
        (tags, "ner_tags", ["O", "B-PER"], "`tags` holds 'U-LOC'", "namespace `ner_tags` lacks",
         "(they had O, B-PER)", "`vocabulary`: {tokens_to_add: {ner_tags: ['U-LOC']}}"),
        (tag_sets, "labels", ["O", "B-PER"], "`tags` holds 'U-PER', which the vocabulary's"),
        (label_sets_of(["A", "B"]), "labels", ["A"], "`tags` holds 'B', which the vocabulary's"),
        (document, "labels", ["wheat"], "`labels` holds 'rye', ", " no document with it",
         "{tokens_to_add: {labels: ['rye']}}"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="which the vocabulary's namespace") as error:
            field.index(Vocabulary({namespace: dict.fromkeys(known, 1)}))
        assert [text for text in said if text not in str(error.value)] == []
    document.index(Vocabulary(tokens_to_add={"labels": ["wheat", "rye"]}))


TAGS = ["B-PER", "O", "I-PER"]


def test_soft_labels_follow_the_students_tag_order_and_need_the_same_tags():
    vocab = Vocabulary({"labels": {"O": 9, "I-PER": 5, "B-PER": 1}})
    transitions = torch.arange(9.0).view(3, 3)
    field = SoftLabelsField(transitions, TAGS, (0, 1))
    order = [1, 2, 0]
    for _ in range(2):
        # Indexing twice must be harmless.
        field.index(vocab)
        actual = field.as_tensor(field.get_padding_lengths())
        assert torch.equal(actual, transitions[order][:, order])
    tags = SoftLabelsField(transitions[:2], TAGS, (1,))
    tags.index(vocab)
    padded = tags.as_tensor({"dimension_0": 3, "dimension_1": 3})
    assert torch.equal(padded, torch.cat([transitions[:2][:, order], torch.zeros(1, 3)]))
    message = "the teacher alone has I-PER, the student alone L-PER, U-PER; give both the same"
    with pytest.raises(ValueError, match=message):
        field.index(Vocabulary({"labels": {"O": 9, "B-PER": 5, "L-PER": 1, "U-PER": 1}}))
    lacking = SoftLabelsField(transitions[:, :2], TAGS[:2], (1,))
    with pytest.raises(ValueError, match="the teacher alone has none, the student alone I-PER"):
        lacking.index(vocab)


def test_labels_without_soft_labels_have_probability_0(caplog):
    vocab = Vocabulary(tokens_to_add={"labels": ["O", "I-LOC", "I-PER", "B-PER", "B-LOC"]})
    transitions = torch.arange(1.0, 10).view(3, 3)
    of_tags, of_both = (SoftLabelsField(transitions, TAGS, each) for each in ((1,), (0, 1)))
    for field in (of_tags, of_both) * 2:
        field.index(vocab)
    # In the student's order; `TAGS` are B-PER, O and I-PER
    expected = [[2, 0, 3, 1, 0], [5, 0, 6, 4, 0], [8, 0, 9, 7, 0]]
    assert of_tags.tensor.tolist() == expected
    nothing = [0] * 5
    assert of_both.tensor.tolist() == [expected[1], nothing, expected[2], expected[0], nothing]
    assert caplog.text.count("no soft label is of LOC, so it has the probability 0") == 1
    gold = SoftLabelsField(torch.ones(2, 3), TAGS, (1,)).of_gold_tags(["B-LOC", "O"], [2])
    gold.index(vocab)
    assert gold.tensor.tolist() == [[0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
