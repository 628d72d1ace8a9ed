import pytest
import torch
from allennlp.data import Vocabulary

from tagger.data.fields import SoftLabelsField

TAGS = ["B-PER", "O", "I-PER"]


def test_probabilities_get_the_order_of_the_students_tags():
    vocab = Vocabulary({"labels": {"O": 9, "I-PER": 5, "B-PER": 1}})
    transitions = torch.arange(9.0).view(3, 3)
    field = SoftLabelsField(transitions, TAGS, (0, 1))
    order = [1, 2, 0]
    for _ in range(2):
        # An instance may be indexed twice.
        field.index(vocab)
        actual = field.as_tensor(field.get_padding_lengths())
        assert torch.equal(actual, transitions[order][:, order])
    tags = SoftLabelsField(transitions[:2], TAGS, (1,))
    tags.index(vocab)
    padded = tags.as_tensor({"dimension_0": 3, "dimension_1": 3})
    assert torch.equal(padded, torch.cat([transitions[:2][:, order], torch.zeros(1, 3)]))


def test_other_tags_than_the_students_are_named():
    field = SoftLabelsField(torch.zeros(1, 3), TAGS, (1,))
    message = "the teacher alone has I-PER, the student alone L-PER, U-PER; give both the same"
    with pytest.raises(ValueError, match=message):
        field.index(Vocabulary({"labels": {"O": 9, "B-PER": 5, "L-PER": 1, "U-PER": 1}}))
