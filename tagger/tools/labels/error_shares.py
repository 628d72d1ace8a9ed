"""How many labels of a corpus are wrong, estimated without any correction.

Letters: `N` items.
"""

from typing import Sequence, Tuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from tagger.tools.labels.probabilities import Item

#: How far probabilities are kept from 0 and 1.
_MARGIN = 1e-6
#: How far log-odds may be shifted.
_FARTHEST = 20.0


def with_shares_of_errors(
    probabilities: np.ndarray,
    items: Sequence[Item],
    synthetic_items: Sequence[Item],
    is_synthetic: np.ndarray,
) -> np.ndarray:
    """Corrects probabilities of errors, (N,), that were learnt where other shares of items were wrong.

    The log-odds of all labelled entities are shifted by a constant, and those of all that may have been
    missed by another. The mean probabilities of the two kinds then stand in the proportion of
    `shares_of_errors`. They sum to as many errors as `share_like_synthetic` counts, but no more than
    those shares.

    The taggers of the N `items` have learnt from labels of the same annotators; `is_synthetic`, (M,)
    bool, says which of the M `synthetic_items` are errors.
    """
    kinds, synthetic_kinds = _kinds(items), _kinds(synthetic_items)
    numbers = np.array([kind.sum() for kind in kinds])
    expected = numbers * shares_of_errors(items)
    like_synthetic = numbers * [
        share_like_synthetic(_mean(probabilities[kind]), _mean(is_synthetic[of_synthetic]))
        for kind, of_synthetic in zip(kinds, synthetic_kinds)
    ]
    scale = min(like_synthetic.sum() / max(expected.sum(), _MARGIN), 1.0)
    corrected = probabilities.copy()
    for kind, number, count in zip(kinds, numbers, scale * expected):
        corrected[kind] = shifted_to_mean(probabilities[kind], count / max(number, 1))
    return corrected


def share_like_synthetic(mean: float, synthetic: float) -> float:
    """Estimates the share `e` of errors like synthetic ones, whose share is `r`; at most 1.

    The classifier takes all other labels for right, though a share `e` of them are such errors. So it
    gives each such error the probability `r / (r + e)`. Where there are no synthetic errors its mean is
    `m = e r / (r + e)`, so `e = m r / (r - m)`.
    """
    return min(mean * synthetic / (synthetic - mean), 1.0) if mean < synthetic else 1.0


def shares_of_errors(items: Sequence[Item]) -> Tuple[float, float]:
    """Estimates the shares of wrong labelled entities, and of missed ones where nothing is labelled.

    The taggers behind the items must have learnt from labels of the same annotators. A label is wrong as
    often as taggers, given that there is an entity, take another label or another border.

    Where annotators miss entities, taggers learn to doubt all. Of the places where an entity has a
    probability above one half, let `c` be the share that is labelled. Let `p` be the probability of an
    entity where none is labelled. If annotators miss all alike, one was missed there with probability
    `(1 - c) / c * p / (1 - p)`, at most 1 (Elkan & Noto 2008, "Learning classifiers from only positive
    and unlabeled data"; they estimate `c` as the mean probability at labelled entities, which spurious
    ones lower).

    Both shares are 0 for no item.
    """
    beliefs = np.array([(item.agreement, item.presence) for item in items]).reshape(-1, 2)
    labelled, others = (beliefs.clip(_MARGIN, 1 - _MARGIN)[kind] for kind in _kinds(items))
    wrong = 1 - np.minimum(labelled[:, 0] / labelled[:, 1], 1)
    num_known, num_unknown = ((each[:, 1] > 0.5).sum() for each in (labelled, others))
    presence = others[:, 1]
    missed = np.minimum(num_unknown / max(num_known, 1) * presence / (1 - presence), 1)
    return _mean(wrong), _mean(missed)


def shifted_to_mean(probabilities: np.ndarray, mean: float) -> np.ndarray:
    """Adds a constant to log-odds, so that the mean is `mean`; where none does, adds nothing.

    Example:
        >>> shifted_to_mean(np.array([0.1, 0.5]), 0.5).round(3)
        array([0.25, 0.75])
    """
    if not len(probabilities):
        return probabilities
    log_odds = logit(probabilities.clip(_MARGIN, 1 - _MARGIN))

    def excess(shift: float) -> float:
        return float(expit(log_odds + shift).mean()) - mean

    if not excess(-_FARTHEST) < 0 < excess(_FARTHEST):
        return probabilities
    return expit(log_odds + brentq(excess, -_FARTHEST, _FARTHEST))


def _kinds(items: Sequence[Item]) -> Tuple[np.ndarray, np.ndarray]:
    """Returns which items are labelled, and which are not, (N,) bool."""
    is_labelled = np.array([item.labelled is not None for item in items], dtype=bool)
    return is_labelled, ~is_labelled


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
