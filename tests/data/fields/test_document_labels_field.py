import pytest
from allennlp.data import Vocabulary

from tagger.data.fields import DocumentLabelsField


def test_a_label_that_training_has_not_seen_is_named_with_a_remedy():
    field = DocumentLabelsField(["wheat", "rye"])
    with pytest.raises(ValueError, match="`labels` holds 'rye', .* no document with it") as caught:
        field.index(Vocabulary({"labels": {"wheat": 1}}))
    assert "{tokens_to_add: {labels: ['rye']}}" in str(caught.value)
    field.index(Vocabulary(tokens_to_add={"labels": ["wheat", "rye"]}))
