"""The shares of errors are those that were drawn, and probabilities get their means."""

import numpy as np
import pytest

from tagger.tools.labels.error_shares import (
    share_like_synthetic,
    shares_of_errors,
    shifted_to_mean,
    with_shares_of_errors,
)
from tagger.tools.labels.probabilities import Item

SPAN = ("PER", (0, 0))


def corpus_of(seed, missed, mislabelled):
    """Items of a corpus with clear and unclear entities, and taggers that know all but the labels.

    Returns the items and the true shares of errors.
    """
    random = np.random.default_rng(seed)
    items, errors = [], {True: [], False: []}
    for is_clear in random.random(20_000) < 0.5:
        # The probability of an entity here; those that are unclear are not believed in.
        of_entity = 1.0 if is_clear else random.uniform(0, 0.5)
        presence = of_entity * (1 - missed)
        is_entity = random.random() < of_entity
        is_labelled = is_entity and random.random() >= missed
        agreement = presence * (1 - mislabelled) if is_labelled else 1 - presence
        is_error = random.random() < mislabelled if is_labelled else is_entity
        errors[is_labelled].append(is_error)
        labelled = SPAN if is_labelled else None
        items.append(Item(0, labelled, SPAN, agreement, 1 - agreement, presence))
    return items, (np.mean(errors[True]), np.mean(errors[False]))


@pytest.mark.parametrize(("missed", "mislabelled"), [(0.1, 0.3), (0.4, 0.05), (0.0, 0.0)])
def test_shares_are_those_that_were_drawn(missed, mislabelled):
    items, true = corpus_of(0, missed, mislabelled)
    wrong, found = shares_of_errors(items)
    assert wrong == pytest.approx(true[0], abs=0.01)
    assert found == pytest.approx(true[1], rel=0.05, abs=0.001)


def test_corpora_without_items_of_a_kind_have_no_errors_of_it():
    assert shares_of_errors([]) == (0.0, 0.0)
    items, _ = corpus_of(0, 0.1, 0.1)
    labelled = [item for item in items if item.labelled]
    assert shares_of_errors(labelled)[1] == 0.0
    others = [item for item in items if not item.labelled]
    assert shares_of_errors(others)[0] == 0.0


def test_probabilities_keep_their_order_and_get_the_mean():
    probabilities = np.random.default_rng(0).random(100) ** 3
    shifted = shifted_to_mean(probabilities, 0.4)
    assert shifted.mean() == pytest.approx(0.4)
    assert (shifted.argsort() == probabilities.argsort()).all()
    log_odds = np.log(shifted / (1 - shifted)) - np.log(probabilities / (1 - probabilities))
    assert np.ptp(log_odds[probabilities > 1e-6]) < 1e-6
    assert len(shifted_to_mean(np.empty(0), 0.4)) == 0


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_mean_that_no_shift_gives_changes_nothing(share):
    probabilities = np.array([0.2, 0.7])
    assert (shifted_to_mean(probabilities, share) == probabilities).all()


@pytest.mark.parametrize(("own", "made"), [(0.3, 0.1), (0.01, 0.1), (0.0, 0.2)])
def test_errors_like_synthetic_ones_are_counted(own, made):
    # The classifier cannot tell own errors from synthetic ones, and takes them for right.
    assert share_like_synthetic(own * made / (made + own), made) == pytest.approx(own)
    # A mean above the share that was made counts all.
    assert share_like_synthetic(2 * made, made) == 1.0


def test_kinds_get_means_in_the_proportion_of_their_shares_and_keep_their_order():
    items, _ = corpus_of(0, 0.4, 0.1)
    random = np.random.default_rng(1)
    probabilities = 0.05 * random.random(len(items))
    is_synthetic = random.random(len(items)) < 0.1
    corrected = with_shares_of_errors(probabilities, items, items, is_synthetic)
    wrong, missed = shares_of_errors(items)
    of_kinds = [np.array([(item.labelled is None) == kind for item in items]) for kind in (0, 1)]
    means = [corrected[kind].mean() for kind in of_kinds]
    assert means[1] / means[0] == pytest.approx(missed / wrong)
    total = sum(
        kind.sum() * share_like_synthetic(probabilities[kind].mean(), is_synthetic[kind].mean())
        for kind in of_kinds
    )
    assert corrected.sum() == pytest.approx(total)
    for kind in of_kinds:
        assert (np.diff(corrected[kind][probabilities[kind].argsort()]) >= 0).all()


def test_no_more_errors_are_counted_than_the_shares_say():
    items, _ = corpus_of(0, 0.1, 0.1)
    probabilities = np.full(len(items), 0.5)
    corrected = with_shares_of_errors(probabilities, items, items, np.zeros(len(items), dtype=bool))
    wrong, missed = shares_of_errors(items)
    num_labelled = sum(item.labelled is not None for item in items)
    expected = num_labelled * wrong + (len(items) - num_labelled) * missed
    assert corrected.sum() == pytest.approx(expected)


def test_a_corpus_without_items_is_left_alone():
    assert len(with_shares_of_errors(np.empty(0), [], [], np.empty(0, dtype=bool))) == 0
