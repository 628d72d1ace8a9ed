import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.modules.class_weights import ClassWeights, class_weights_by_label
from tagger.training_counts import LabelCounts


class OptionalWeights(ClassWeights):
    _weights_are_required = False


def test_where_weights_are_optional_none_weigh_one_and_none_are_saved():
    weights = OptionalWeights()
    weights.check_weights()
    weights.use_training_counts(LabelCounts({"labels": {"O": 3}}))
    tags, mask = torch.tensor([[1, -1]]), torch.tensor([[True, True]])
    assert weights.token_weights(tags, mask).tolist() == [[1, 1]]
    assert not weights.state_dict()


def test_more_than_one_source_of_weights_is_refused_even_where_none_is_required():
    vocab = Vocabulary({"labels": {"O": 1}})
    with pytest.raises(ConfigurationError, match="at most one of `tag_weights`.*; got 2 of them"):
        OptionalWeights(tag_weights=[2.0], label_weights={"O": 2.0}, vocab=vocab)


def test_labels_that_spell_no_spans_are_weighted_by_themselves():
    assert class_weights_by_label({"NOUN": 2.0}, ["VERB", "NOUN"]) == [1.0, 2.0]
    with pytest.raises(ConfigurationError, match="names `NUON`.*; did you mean `NOUN`"):
        class_weights_by_label({"NUON": 2.0}, ["VERB", "NOUN"])
