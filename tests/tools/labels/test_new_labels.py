"""A tagger of new labels as it starts, and what it may say of the sentences."""

import torch
from allennlp.data import Token, Vocabulary
from allennlp.data.fields import TextField

from tagger.data.fields import TagSetsField
from tagger.spans import possible_tags
from tagger.tools.labels.student import open_outside, with_new_rows, with_new_tags

OLD, NEW = ["O", "B-PER", "I-PER"], ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]
VOCAB = Vocabulary({"labels": {tag: 9 - k for k, tag in enumerate(NEW)}})
#: What annotators of ORG wrote, `?` where they did not look; and what each token may then be.
SENTENCES = {
    ("B-ORG", "O", "O"): [["B-ORG"], OLD, OLD],
    ("O", "B-ORG", "I-ORG", "O"): [OLD, ["B-ORG"], ["I-ORG"], OLD],
    ("O", "?", "B-PER", "?"): [OLD, NEW, ["B-PER"], NEW],
    ("I-ORG", "?"): [["B-ORG"], NEW],
}


def opened(tags):
    field = TagSetsField(
        possible_tags(tags, "IOB1", "BIO", "?"), TextField([Token("a") for _ in tags])
    )
    field = open_outside(field, ["ORG"], "BIO")
    field.index(VOCAB)
    return field.as_tensor({"num_tokens": 4})


def test_what_is_not_labelled_may_have_any_old_tag():
    for tags, expected in SENTENCES.items():
        allowed = [
            [name for name, is_in in zip(NEW, row) if is_in] for row in opened(tags).tolist()
        ]
        assert allowed[: len(tags)] == expected


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
