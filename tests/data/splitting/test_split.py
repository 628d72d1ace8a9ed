"""Splits keep documents whole and lose nothing."""

from collections import Counter

import numpy as np
import pytest

from tagger.data.splitting.documents import Documents
from tagger.data.splitting.overlap import overlap
from tagger.data.splitting.split import Item, block_length, groups_of, split_groups


def drawn(seed):
    """Returns the labels of random sentences, their documents, and the shares of the parts."""
    random = np.random.default_rng(seed)
    num_parts = int(random.integers(2, 5))
    of_item = np.repeat(np.arange(40), random.integers(1, 30, 40)).tolist()
    rates = {"A": 0.5, "B": 0.1, "C": 0.02}
    labels = [[name for name in rates if random.random() < rates[name]] for _ in of_item]
    return labels, of_item, random.uniform(0.1, 1, num_parts).tolist()


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("tells_documents", [True, False], ids=["documents", "blocks"])
def test_no_group_is_divided_and_labels_are_in_each_part(seed, tells_documents):
    labels, of_item, shares = drawn(seed)
    documents = Documents("numbers", "column", of_item) if tells_documents else None
    groups = groups_of(len(labels), documents)
    parts = split_groups(labels, groups, shares, seed, "all.txt")
    # Each sentence is in one part, and all sentences of a group are in the same part.
    assert len(parts) == len(labels)
    assert len(set(zip(groups.of_item, parts))) == groups.number
    assert set(parts) == set(range(len(shares)))
    groups_with = {
        label: {group for group, own in zip(groups.of_item, labels) if label in own}
        for label in "ABC"
    }
    for label, found in groups_with.items():
        if len(found) >= len(shares):
            has_label = {part for part, own in zip(parts, labels) if label in own}
            assert has_label == set(parts), label
    # No part misses its size by much more than a large document.
    sizes = np.bincount(parts) - np.array(shares) / sum(shares) * len(labels)
    assert abs(sizes).max() <= 1.5 * max(Counter(groups.of_item).values())


def test_large_and_small_documents_are_in_each_part():
    sizes = np.tile([2, 30], 100)
    of_item = np.repeat(np.arange(200), sizes).tolist()
    parts = split_groups(
        [["A"]] * len(of_item), groups_of(0, Documents("", "", of_item)), [8, 1, 1], 0, ""
    )
    for part in range(3):
        own = {group for group, each in zip(of_item, parts) if each == part}
        assert 8 < np.mean([sizes[group] for group in own]) < 24


def test_blocks_of_adjacent_sentences_are_spread_over_the_file():
    groups = groups_of(1_000, None)
    parts = np.array(split_groups([[]] * 1_000, groups, [9, 1], 0, ""))
    (places,) = np.nonzero(parts)
    assert len(places) == 100
    assert np.count_nonzero(np.diff(places) > 1) >= 4  # several runs of ten or more
    assert places.min() < 300
    assert places.max() > 700


def test_blocks_are_longer_in_large_files_and_many_in_small_ones():
    lengths = [block_length(number) for number in range(1, 20_000)]
    assert max(lengths) == 50
    assert all(number / length >= 20 for number, length in enumerate(lengths, 1) if number >= 20)
    assert lengths[:39] == [1] * 39


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (Documents("comments", "comments", [0, 0, 1, 1]), "at least 3 documents, told by comments"),
        (None, "at least 5 sentences"),
    ],
)
def test_too_few_groups_for_the_parts_are_refused(documents, message):
    shares = [1] * (3 if documents else 5)
    with pytest.raises(ValueError, match=f"all.txt: expected {message}"):
        split_groups([["A"]] * 4, groups_of(4, documents), shares, 0, "all.txt")


def item(text, *entities):
    return Item(text.split(), [("X", each) for each in entities])


def test_seen_entities_and_near_duplicates_are_counted():
    train = [
        item("On 4 May Ada Lovelace met him in the old town", "Ada Lovelace"),
        item("Lima here", "Lima"),
        item("They all came home again"),
    ]
    dev = [
        item("LIMA HERE", "LIMA"),  # equal but for case, and too short for trigrams
        item("On 5 May Ada Lovelace met him in the old town .", "Ada Lovelace"),  # most trigrams
        item("Ada Lovelace left Lima", "Ada", "Lima"),
        item("Nothing is alike"),
        item("Lima here"),
        item("They all came home again"),
    ]
    found = overlap(train, dev)
    assert found == (4, 3, 6, 4, 2, 1)
    assert found.describe() == (
        "75.0% of 4 entities have the words of a training entity; 66.7% of 6 sentences nearly equal a "
        "training one, 2 exactly"
    )
    assert found.warning() == (
        "most entities are known by their words and many sentences nearly occur in the training part: "
        "expect lower figures on new texts"
    )
    assert overlap(train, dev[2:4]).warning() == ""


def test_plain_labels_of_tokens_are_not_counted_as_entities():
    nouns = [Item(["Lima"], [("NOUN", "Lima")])]
    assert overlap(nouns, nouns)[:2] == (0, 0)
