import math

import pytest
import torch
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import (
    LabelField,
    MultiLabelField,
    SequenceLabelField,
    TensorField,
    TextField,
)
from allennlp.data.token_indexers import SingleIdTokenIndexer

from tagger.common.training_counts import count_labels, inverse_effective_number
from tagger.data import LabelSetsField, TagField
from tagger.data.dataset_readers.instance_weights import weights_field
from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.spans.overlapping import chain_namespace


def text_of(words):
    return TextField([Token(word) for word in words], {"tokens": SingleIdTokenIndexer()})


def sentence(tags, field_class=TagField, **arguments):
    text = text_of(tags)
    return Instance({"tokens": text, "tags": field_class(tags, text, **arguments)})


def test_known_labels_and_the_items_with_known_labels_are_counted():
    text = text_of("abcd")
    label_sets = LabelSetsField([["A", "B"], ["A", "?B"], ["?"], []], text, unknown_tag="?")
    instances = [
        Instance({"tokens": text, "sets": label_sets}),
        sentence(["O", "?", "B-PER"], unknown_tag="?", label_namespace="tags"),
        Instance({"topic": LabelField("sport", "topic_labels")}),
        *(Instance({"genres": MultiLabelField(own, "genre_labels")}) for own in ([], ["new"])),
    ]
    counts = count_labels(instances)
    assert counts == {
        "labels": {"A": 2, "B": 1},
        "tags": {"O": 1, "B-PER": 1},
        "topic_labels": {"sport": 1},
        "genre_labels": {"new": 1},
    }
    assert counts.num_items == {"labels": 3, "tags": 2, "topic_labels": 1, "genre_labels": 2}


def test_indexed_fields_are_counted_too():
    instances = [sentence(["O", "B-PER", "O"], SequenceLabelField), sentence(["O", "B-PER"])]
    vocab = Vocabulary.from_instances(instances)
    for instance in instances:
        instance.index_fields(vocab)
    assert count_labels(instances) == {"labels": {"O": 3, "B-PER": 2}}


def weighted(instance, weights, lengths=None):
    instance.add_field("weights", weights_field(weights))
    if lengths:
        instance.add_field("sentence_lengths", TensorField(torch.tensor(lengths)))
    return instance


def test_a_sentence_of_weight_2_counts_twice_and_one_of_weight_0_not():
    text = text_of("ab")
    sets = [
        Instance({"sets": LabelSetsField([["A", "B"], ["?"]], text, unknown_tag="?")}) for _ in "ab"
    ]
    # A document of two sentences.
    document = sentence(["O", "?", "B-PER", "B-LOC"], unknown_tag="?", label_namespace="tags")
    instances = [
        weighted(sets[0], [2]),
        weighted(sets[1], [0]),
        weighted(document, [0, 3], [1, 3]),
        weighted(sentence(["O", "O"], label_namespace="tags"), [0.3]),
        weighted(Instance({"genres": MultiLabelField(["new"], "genre_labels")}), [1.4]),
        weighted(Instance({"topic": LabelField("sport", "topic_labels")}), [0]),
    ]
    counts = count_labels(instances, weighted=True).rounded()
    assert counts == {
        "labels": {"A": 2, "B": 2},
        "tags": {"B-PER": 3, "B-LOC": 3, "O": 1},
        "genre_labels": {"new": 1},
    }
    assert counts.num_items == {"labels": 2, "tags": 7, "genre_labels": 1}
    assert counts.label_sets["labels"] == {frozenset("AB"): 2}
    assert count_labels(instances)["tags"] == {"O": 3, "B-PER": 1, "B-LOC": 1}


@pytest.mark.parametrize("weights", [None, [2]])
def test_chains_of_labels_are_counted_by_weight(weights):
    text = text_of("abc")
    field = LabelChainsField([["B-PER"], ["I-PER", "B-LOC"], []], text)
    instance = Instance({"tokens": text, "tags": field})
    if weights:
        weighted(instance, weights)
    instance.index_fields(Vocabulary.from_instances([instance]))
    counts = count_labels([instance], weighted=True)
    times = 1 if weights is None else 2
    assert counts[chain_namespace("labels", "PER")] == dict.fromkeys(("B-PER", "I-PER", "O"), times)
    assert counts[chain_namespace("labels", "LOC")] == {"B-LOC": times, "O": 2 * times}


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9, 0.9999, 1 - 1e-9])
def test_effective_number_weights_are_one_over_the_sum_of_powers_of_beta(dtype, beta):
    counts = [1, 2, 7, 5_000]
    # `math.fsum` adds without rounding.
    expected = [1 / math.fsum(beta**power for power in range(count)) for count in counts]
    actual = inverse_effective_number(torch.tensor(counts, dtype=dtype), beta)
    assert actual.dtype == (torch.float32 if dtype == torch.int64 else torch.float64)
    # For beta near 1, computing 1 - beta loses half of its digits.
    tolerance = 1e-6 if dtype == torch.int64 else 1e-7
    assert actual.tolist() == pytest.approx(expected, rel=tolerance)
    none = inverse_effective_number(torch.tensor([0], dtype=dtype), beta)
    assert none.tolist() == pytest.approx([1])
