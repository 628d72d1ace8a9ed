"""How many labels of a corpus are wrong, estimated without any correction.

Letters: `N` items.
"""

from typing import Sequence, Tuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from tagger.labels.judge import Item

#: Probabilities are kept as far from 0 and 1.
_MARGIN = 1e-6
#: How far log-odds may be shifted.
_FARTHEST = 20.0


def shares_of_errors(items: Sequence[Item]) -> Tuple[float, float]:
    """Estimates the shares of wrong labelled entities, and of missed ones where nothing is labelled.

    The taggers behind the items must have learnt from labels of the same annotators.

    A label is wrong as often as taggers, given that there is an entity, take another label or another
    border.

    Where annotators miss entities, taggers learn to doubt all. Let `c` be the share of labelled entities
    among those that taggers rather believe in than not, and `p` the probability of an entity where none
    is labelled. If annotators miss all alike, one was missed there with the probability
    `(1 - c) / c * p / (1 - p)`, at most 1 (Elkan & Noto 2008, "Learning classifiers from only positive
    and unlabeled data", section 2; they estimate `c` as the mean probability at labelled entities, which
    spurious ones lower).

    Returns:
        The two shares, 0 for no item.
    """
    labelled, others = [
        np.array([(each.agreement, each.presence) for each in kind])
        .reshape(-1, 2)
        .clip(_MARGIN, 1 - _MARGIN)
        for kind in (
            [item for item in items if item.labelled is not None],
            [item for item in items if item.labelled is None],
        )
    ]
    wrong = 1 - np.minimum(labelled[:, 0] / labelled[:, 1], 1)
    num_known, num_unknown = ((each[:, 1] > 0.5).sum() for each in (labelled, others))
    missed = np.minimum(num_unknown / max(num_known, 1) * np.exp(logit(others[:, 1])), 1)
    return _mean(wrong), _mean(missed)


def shifted_to_mean(probabilities: np.ndarray, mean: float) -> np.ndarray:
    """Adds a constant to the log-odds of probabilities, (N,), so that their mean is `mean`.

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


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
