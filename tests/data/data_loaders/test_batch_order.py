import numpy as np
import pytest

from tagger.data.data_loaders.batch_order import (
    batches_within,
    ordered_batches,
    shuffled_batches,
    shuffled_batches_within,
)


@pytest.fixture
def lengths():
    return np.random.default_rng(0).gamma(2, 8, size=3_001).astype(int) + 1


def shuffled(lengths, num_batches, seed=0, **options):
    return shuffled_batches(lengths, num_batches, np.random.default_rng(seed), **options)


def share_of_padding(batches, lengths):
    num_padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    return 1 - lengths.sum() / num_padded


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("num_instances", [1, 2, 7, 3_001])
@pytest.mark.parametrize("order", [shuffled, ordered_batches])
def test_each_instance_is_in_one_batch_and_batches_differ_by_one_at_most(
    order, num_instances, sort, lengths
):
    for num_batches in {1, (num_instances + 1) // 2, num_instances}:
        batches = order(lengths[:num_instances], num_batches, sort=sort)
        assert len(batches) == num_batches
        sizes = {len(batch) for batch in batches}
        assert min(sizes) > 0
        assert max(sizes) - min(sizes) <= 1
        assert sorted(np.concatenate(batches)) == list(range(num_instances))


def test_batches_hold_instances_of_similar_length(lengths):
    assert share_of_padding(shuffled(lengths, 100), lengths) < 0.1
    assert share_of_padding(ordered_batches(lengths, 100), lengths) < 0.03
    assert share_of_padding(shuffled(lengths, 100, sort=False), lengths) > 0.5


def test_batches_come_in_a_random_order_that_depends_on_the_seed(lengths):
    first, again, other = (
        [batch.tolist() for batch in shuffled(lengths, 100, seed)] for seed in (1, 1, 2)
    )
    assert first == again
    assert sorted(first) != sorted(other)
    assert_neighbours_are_unlike(first, lengths)
    # With only a few batches, instances must still meet new neighbours; plain sorting would not do that.
    few = np.arange(1, 33)
    assert len({frozenset(b.tolist()) for seed in range(9) for b in shuffled(few, 4, seed)}) > 9


def assert_neighbours_are_unlike(batches, lengths):
    means = [lengths[batch].mean() for batch in batches]
    # Neighbours are uncorrelated: 0.5 is five standard deviations for 99 pairs.
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.5


def test_workers_get_batches_of_similar_length_at_the_same_time(lengths):
    shares = lengths[::2], lengths[1::2]
    means = [[share[batch].mean() for batch in shuffled(share, 50, seed=3)] for share in shares]
    assert len(shares[0]) != len(shares[1])
    assert np.corrcoef(means)[0, 1] > 0.9


def shuffled_within(lengths, max_tokens, seed=0):
    return shuffled_batches_within(lengths, max_tokens, np.random.default_rng(seed))


@pytest.mark.parametrize("max_tokens", [1, 50, 1_000, 10**6])
def test_batches_limited_by_tokens_hold_each_instance_once(max_tokens, lengths):
    batches = shuffled_within(lengths, max_tokens)
    assert sorted(np.concatenate(batches)) == list(range(len(lengths)))
    assert min(map(len, batches)) > 0
    assert all(len(b) == 1 or len(b) * lengths[b].max() <= max_tokens for b in batches)


def test_epochs_limited_by_tokens_have_equally_many_full_batches_with_new_members(lengths):
    first, second = (shuffled_within(lengths, 1_000, seed) for seed in (1, 2))
    assert share_of_padding(first, lengths) < 0.1
    assert len(first) == len(second) < 1.15 * len(batches_within(lengths, 1_000))
    assert not {frozenset(b.tolist()) for b in first} & {frozenset(b.tolist()) for b in second}
    assert_neighbours_are_unlike(first, lengths)
