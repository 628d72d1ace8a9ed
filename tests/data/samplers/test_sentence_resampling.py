import math
from collections import Counter

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.data.fields import MultiLabelField
from allennlp.data.samplers import BatchSampler

from tagger.data import SentenceResamplingBatchSampler, TagSetsField
from tagger.data.samplers.sentence_resampling import FORMS
from tagger.spans import possible_tags
from tests.data.samplers.sentences import instance, text_of

# Ten tokens, two of them LOC and four PER.
SENTENCES = [["B-LOC", "I-LOC", "B-PER", "O"], ["B-PER", "B-PER", "I-PER"], ["O", "O", "O"]]
LOC, PER = math.log2(10 / 2), math.log2(10 / 4)


def counts_of_an_epoch(instances, form, **kwargs):
    sampler = SentenceResamplingBatchSampler(2, form, **kwargs)
    batches = list(sampler.get_batch_indices(instances))
    assert sampler.get_num_batches(instances) == len(batches)
    counts = Counter(i for batch in batches for i in batch)
    return [counts[i] for i in range(len(instances))]


@pytest.mark.parametrize(
    ("form", "first", "second"),
    [
        ("sC", math.sqrt(1 + 3), math.sqrt(1 + 3)),
        ("sCR", math.sqrt(1 + 2 * LOC + PER), math.sqrt(1 + 3 * PER)),
        ("sCRD", (1 + 2 * LOC + PER) / math.sqrt(4), (1 + 3 * PER) / math.sqrt(3)),
        ("nsCRD", (1 + 2**0.5 * LOC + PER) / math.sqrt(4), (1 + 3**0.5 * PER) / math.sqrt(3)),
    ],
)
def test_a_sentence_is_repeated_by_its_formula_rounded_up(form, first, second):
    counts = counts_of_an_epoch([instance(tags) for tags in SENTENCES], form)
    assert counts == [math.ceil(first), math.ceil(second), 1]


def test_a_sentence_without_labels_is_shown_once_whatever_its_length():
    for form in FORMS:
        assert counts_of_an_epoch([instance(["O"] * 90), instance(["B-A"])], form)[0] == 1


def test_tokens_with_a_known_label_and_an_unknown_tag_count_once():
    text = text_of(2)
    tag_sets = possible_tags(["I-PER", "?"], "IOB1", "BIOUL", unknown_tag="?")
    half_known = Instance({"tokens": text, "tags": TagSetsField(tag_sets, text)})
    # Each has one PER token, and the tag of the first is one of two. Two of nine known tokens are PER.
    counts = counts_of_an_epoch([half_known, instance(["U-PER", *["O"] * 7])], "sCR")
    assert counts == [math.ceil(math.sqrt(1 + math.log2(9 / 2)))] * 2 == [2, 2]
    counts = counts_of_an_epoch([half_known, instance(["U-PER", *["O"] * 7])], "nsCRD")
    assert counts[0] == math.ceil(1 + math.log2(9 / 2))


def test_labelled_texts_count_as_sentences_of_one_token():
    texts = [
        Instance({"tokens": text_of(3), "of": MultiLabelField(labels, "topics")})
        for labels in (["A"], ["B"], ["B"], ["B"])
    ]
    counts = counts_of_an_epoch(texts, "nsCRD", label_namespace="topics")
    assert counts == [1 + 2, *[math.ceil(1 + math.log2(4 / 3))] * 3]


def test_an_unknown_formula_is_refused():
    with pytest.raises(ConfigurationError, match="`form` must be one of sC, .*; got 'CRD'"):
        SentenceResamplingBatchSampler(2, "CRD")
    assert BatchSampler.by_name("sentence_resampling") is SentenceResamplingBatchSampler
