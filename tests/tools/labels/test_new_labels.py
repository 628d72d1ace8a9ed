"""The possible tags of new sentences, the initial weights of new labels, and the bias against them."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import TextField

from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.spans import possible_tags
from tagger.tools.labels.new_label_bias import (
    BIASES,
    choose_bias,
    counts_by_bias,
    f1_by_bias,
    with_old_entities,
)
from tagger.tools.labels.student import open_outside, with_new_rows, with_new_tags
from tagger_texts.prediction import Prediction

OLD, NEW = ["O", "B-PER", "I-PER"], ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]
VOCAB = Vocabulary({"labels": {tag: 9 - k for k, tag in enumerate(NEW)}})
#: Annotations of ORG, with `?` for unannotated tokens, and the possible tags of each token.
SENTENCES = {
    ("B-ORG", "O", "O"): [["B-ORG"], OLD, OLD],
    ("O", "B-ORG", "I-ORG", "O"): [OLD, ["B-ORG"], ["I-ORG"], OLD],
    ("O", "?", "B-PER", "?"): [OLD, NEW, ["B-PER"], NEW],
    ("I-ORG", "?"): [["B-ORG"], NEW],
}


@pytest.mark.parametrize(("tags", "expected"), SENTENCES.items())
def test_unlabelled_tokens_may_have_any_old_tag(tags, expected):
    text = TextField([Token("a") for _ in tags])
    field = TagSetsField(possible_tags(tags, "IOB1", "BIO", "?"), text)
    field = open_outside(field, ["ORG"], "BIO")
    field.index(VOCAB)
    rows = field.as_tensor({"num_tokens": len(tags)}).tolist()
    assert [[name for name, is_in in zip(NEW, row) if is_in] for row in rows] == expected


def test_new_tags_come_after_the_old_ones_and_start_as_outside_with_mean_transitions():
    old = ["O", "B-PER", "I-PER", "I-LOC", "B-LOC"]
    vocab = Vocabulary({"labels": dict.fromkeys(old, 1), "tokens": {"Ada": 2}})
    old = [vocab.get_token_from_index(k, "labels") for k in range(5)]
    extended = with_new_tags(vocab, "labels", ["ORG"], "BIO")
    names = [extended.get_token_from_index(k, "labels") for k in range(7)]
    assert names[:5] == old
    assert sorted(names[5:]) == ["B-ORG", "I-ORG"]
    assert vocab.get_vocab_size("labels") == 5
    at = {tag: k for k, tag in enumerate(names)}
    transitions, bias = "head.crf.transitions", "projection.bias"
    weights = {bias: torch.randn(5), transitions: torch.randn(5, 5), "other": torch.randn(5)}
    weights |= {"projection.weight": torch.randn(5, 3)}
    grown = with_new_rows(weights, old, names)
    assert grown["other"] is weights["other"]
    torch.testing.assert_close(grown[transitions][:5, :5], weights[transitions])
    for name, discount in (("projection.weight", 0), (bias, 1)):
        torch.testing.assert_close(grown[name][:5], weights[name])
        for tag in ("B-ORG", "I-ORG"):
            torch.testing.assert_close(grown[name][at[tag]], weights[name][at["O"]] - discount)
    for pair, analogous in {
        ("B-ORG", "I-ORG"): [("B-PER", "I-PER"), ("B-LOC", "I-LOC")],
        ("O", "B-ORG"): [("O", "B-PER"), ("O", "B-LOC")],
    }.items():
        mean = sum(weights[transitions][at[a], at[b]] for a, b in analogous) / 2
        torch.testing.assert_close(grown[transitions][at[pair[0]], at[pair[1]]], mean)


def instance_of(tags):
    text = TextField([Token(f"w{t}") for t in range(len(tags))])
    field = TagSetsField(possible_tags(tags, "BIO", "BIO", "?"), text)
    return Instance({"tokens": text, "tags": open_outside(field, ["ORG"], "BIO")})


def tagger_that_finds(tags):
    """A tagger that finds the same tags everywhere."""

    def predict_instances(instances):
        assert all(set(each.fields) == {"tokens"} for each in instances)
        return [Prediction(tags=tags) for _ in instances]

    model = Mock(tag_encoding="BIO", predict_instances=predict_instances)
    model.eval.return_value = model
    return model


@pytest.mark.parametrize(
    ("labelled", "found", "expected"),
    [
        ("O O O", "B-PER I-PER O", "B-PER I-PER O"),
        # An entity that overlaps a labelled one is dropped.
        ("O B-ORG O O", "B-PER I-PER O B-LOC", "O B-ORG O B-LOC"),
        # An old label in the new file overrides the tagger.
        ("B-LOC O O", "B-PER O B-PER", "B-LOC O B-PER"),
        # Unannotated tokens stay unknown.
        ("O ? O O", "B-PER I-PER O B-PER", "O ? O B-PER"),
    ],
)
def test_entities_of_the_old_tagger_are_kept_unless_they_contradict_a_label(
    labelled, found, expected
):
    instance = instance_of(labelled.split())
    (completed,) = with_old_entities(tagger_that_finds(found.split()), [instance])
    assert completed["tags"].labels == expected.split()
    assert completed["tokens"] is instance["tokens"]


def test_the_best_bias_among_those_that_keep_the_old_labels_is_chosen():
    # Counts of new and old labels under the first four biases; the other biases find nothing.
    counts = np.zeros((len(BIASES), 3, 2), np.int64)
    counts[:, 2] = 100
    for row, rights in zip(counts, [(80, 90), (82, 96), (70, 97), (60, 98)]):
        row[0], row[1] = rights, 100
    assert f1_by_bias(counts)[0] == pytest.approx([0.8, 0.9])
    assert choose_bias(counts, 0.005) == BIASES[3]
    assert choose_bias(counts, 0.015) == BIASES[2]
    assert choose_bias(counts, 0.025) == BIASES[1]
    # Among equal biases, the first changes least.
    counts[0] = counts[1]
    assert choose_bias(counts, 1) == 0
    assert choose_bias(np.zeros_like(counts), 0) == 0


def test_counts_are_of_new_and_of_old_labels_under_each_bias(archive):
    path = archive.config["validation_data_path"]
    instances = list(archive.validation_dataset_reader.read(path))
    counts = counts_by_bias(archive.model, instances, ["PER"])
    assert counts.shape == (len(BIASES), 3, 2)
    gold = [tag for each in instances for tag in each["tags"].labels if tag[:2] in ("B-", "U-")]
    num_new = sum(tag.endswith("PER") for tag in gold)
    assert (counts[:, 2] == [num_new, len(gold) - num_new]).all()
    found = counts[:, 1, 0]
    assert (np.diff(found) <= 0).all()
    assert found[-1] < found[0]
    outputs = archive.model.forward_on_instances(instances)
    opened = [tag for each in outputs for tag in each["tags"] if tag[:2] in ("B-", "U-")]
    assert counts[0, 1].sum() == len(opened)
