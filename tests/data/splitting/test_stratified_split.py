import tracemalloc
from collections import Counter

import numpy as np
import pytest

from tagger.data.splitting.stratified_split import stratified_split

SHARES = [0.7, 0.2, 0.1]


def deviations(label_sets, parts, shares=SHARES):
    """By label, how many items each part is away from its share."""
    totals = Counter(label for labels in label_sets for label in labels)
    counts = {label: np.zeros(len(shares)) for label in totals}
    for labels, part in zip(label_sets, parts):
        for label in labels:
            counts[label][part] += 1
    return {label: abs(counts[label] - np.array(shares) * totals[label]) for label in totals}


def draw(seed, num_items=300, rates=(0.9, 0.3, 0.1, 0.03)):
    has_label = np.random.default_rng(seed).random((num_items, len(rates))) < rates
    return [{f"L{k}" for k in np.flatnonzero(row)} for row in has_label]


@pytest.mark.parametrize("seed", range(5))
def test_with_one_label_per_item_each_part_has_its_share_within_one_item(seed):
    label_sets = [sorted(labels)[:1] for labels in draw(seed)]
    parts = stratified_split(label_sets, SHARES, seed)
    for of_label in deviations(label_sets, parts).values():
        assert of_label.max() < 1
    sizes = np.bincount(parts)
    assert abs(sizes - 300 * np.array(SHARES)).max() < 1


@pytest.mark.parametrize("seed", range(5))
def test_with_several_labels_the_rarest_is_within_one_item_and_all_beat_chance(seed):
    label_sets = draw(seed)
    of_split = deviations(label_sets, stratified_split(label_sets, SHARES, seed))
    assert of_split["L3"].max() < 1
    assert max(of_label.max() for of_label in of_split.values()) <= 2
    by_chance = np.random.default_rng(seed).choice(3, 300, p=SHARES)
    assert max(each.max() for each in deviations(label_sets, by_chance).values()) > 2


def test_the_split_depends_on_the_seed():
    label_sets = draw(0)
    first = stratified_split(label_sets, SHARES, seed=1)
    assert stratified_split(label_sets, SHARES, seed=1) == first
    assert stratified_split(label_sets, SHARES, seed=2) != first


def test_shares_do_not_have_to_sum_to_one():
    label_sets = draw(0)
    assert stratified_split(label_sets, [7, 2, 1]) == stratified_split(label_sets, SHARES)


def test_items_without_labels_even_out_the_sizes():
    parts = stratified_split([["A"]] + 9 * [[]], [1, 1])
    assert Counter(parts) == {0: 5, 1: 5}


@pytest.mark.parametrize("shares", [[], [0.5, 0.0], [1, -1], [float("nan")]])
def test_invalid_shares_are_refused(shares):
    with pytest.raises(ValueError, match="`shares` must hold a number above 0"):
        stratified_split([["A"]], shares)


def test_memory_is_not_quadratic_in_the_number_of_labels():
    label_sets = [[f"L{number // 2}"] for number in range(8_000)]
    tracemalloc.start()
    try:
        parts = stratified_split(label_sets, SHARES)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {0, 1} <= set(parts)
    # A table of 8,000 by 4,000 would take at least 32 MB.
    assert peak < 16_000_000, f"{peak:,} bytes"
