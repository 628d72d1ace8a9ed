"""Precision, recall and F1 on texts without gold tags, estimated from the tagger's probabilities.

The mean probability of predicted entities is their expected precision; the expected numbers of found
and missed entities give the expected recall. These estimates are only as good as the probabilities,
which can be corrected with labelled texts.

Letters: `S` sentences, `C` labels, `N` candidates.
"""

from typing import NamedTuple, Optional, Tuple

import numpy as np
import torch

from tagger.metrics.calibration import count_calibration, expected_calibration_error
from tagger.metrics.intervals import bootstrap_intervals, percentile_intervals
from tagger.modules.recalibration import corrected_log_odds, log_odds_terms
from tagger.tools.tuning.features import SentenceFeatures

#: How far the correction of all labels may be from none, and that of each label from this one, as
#: standard deviations of normal priors on log a, log b and c. Chosen on WNUT-17, see
#: docs/how_to/new_data.md.
SHARED, BY_LABEL = 1.0, 0.5
#: Less probable entities say little about the calibration of more probable ones.
LEAST_FITTED = 0.01
#: The ratio for all labels counts as much as this many entities of each label.
PRIOR_ENTITIES = 2
#: How often a correction is refitted to compute its interval.
NUM_RESAMPLES = 200


def fit_recalibration(
    probabilities: np.ndarray,
    is_right: np.ndarray,
    labels: np.ndarray,
    num_labels: int,
    weights: Optional[np.ndarray] = None,
) -> np.ndarray:
    """Returns the most probable coefficients, (C, 3); see `tagger.modules.recalibration`.

    A few sentences have only few entities of each label, so labels share information: their
    coefficients have a normal prior around shared ones, which in turn have one around no correction.
    With many entities the priors hardly matter.

    `probabilities`, `is_right` and `labels` are (N,), and `weights` says how often each entity counts.
    """
    # Imported lazily, because it takes half a second.
    from scipy.optimize import minimize
    from scipy.special import expit

    terms = log_odds_terms(torch.from_numpy(probabilities)).numpy()
    weight = np.ones(len(labels)) if weights is None else weights
    # (C + 1, 1): the scales of the priors on what all labels share, and on what each has besides.
    scales = np.array([SHARED, *[BY_LABEL] * num_labels])[:, np.newaxis]

    def coefficients_of(point: np.ndarray) -> np.ndarray:
        logs = point[:3] + point[3:].reshape(num_labels, 3)
        return np.hstack([np.exp(logs[:, :2]), logs[:, 2:]])

    def loss(point: np.ndarray) -> Tuple[float, np.ndarray]:
        """Minus the log of the posterior, and its gradient."""
        coefficients = coefficients_of(point)
        log_odds = (coefficients[labels].T * terms).sum(0)
        from_priors = point.reshape(-1, 3) / scales
        losses = weight @ (np.logaddexp(0, log_odds) - is_right * log_odds)
        errors = weight * (expit(log_odds) - is_right)
        slopes = np.stack([np.bincount(labels, errors * own, num_labels) for own in terms], axis=1)
        # The slopes of log a and log b, and that of c.
        slopes = slopes * np.hstack([coefficients[:, :2], np.ones((num_labels, 1))])
        gradient = np.vstack([slopes.sum(0), slopes]) + from_priors / scales
        return losses + (from_priors**2).sum() / 2, gradient.ravel()

    # Steps end where the loss falls by less than 1e-11 of itself.
    options = {"ftol": 1e-11, "gtol": 1e-6}
    found = minimize(
        loss, np.zeros(3 * num_labels + 3), jac=True, method="L-BFGS-B", options=options
    )
    return coefficients_of(found.x)


class Correction(NamedTuple):
    """A correction of a tagger's probabilities."""

    # (C, 3), for the candidates' probabilities; see `tagger.modules.recalibration`.
    coefficients: np.ndarray
    # (C,), the number of gold entities that are no candidates, divided by the number that the tagger
    # expects to miss. None if unknown; then the tagger's expected number is used.
    unlisted: Optional[np.ndarray] = None


class Estimate(NamedTuple):
    """Measures of each label and, in the last column, of all labels together: (3, C + 1) each."""

    values: np.ndarray  # Precision, recall, F1; NaN where undefined
    lowest: np.ndarray  # The lower bounds of 95 % intervals
    highest: np.ndarray  # The upper bounds


def fitted_correction(
    features: SentenceFeatures, weights: Optional[np.ndarray] = None
) -> Correction:
    """Fits a correction to labelled sentences; `weights`, (S,), say how often each counts."""
    found, num_labels = features.candidates, len(features.labels)
    of_sentence = features.has_gold * (1.0 if weights is None else weights)
    of_candidate = of_sentence[found.sentences]
    is_fitted = (of_candidate > 0) & (found.is_predicted | (found.probabilities >= LEAST_FITTED))
    coefficients = fit_recalibration(
        *(found.probabilities[is_fitted], found.is_right[is_fitted], found.labels[is_fitted]),
        num_labels,
        of_candidate[is_fitted],
    )
    listed = np.bincount(found.labels, found.is_right * of_candidate, num_labels)
    unlisted = (of_sentence @ features.num_gold - listed).clip(0)
    leaks = of_sentence @ _num_leaks(features)
    ratio = unlisted.sum() / max(leaks.sum(), 1e-9)
    return Correction(coefficients, (unlisted + PRIOR_ENTITIES * ratio) / (leaks + PRIOR_ENTITIES))


def calibration_errors(features: SentenceFeatures, num_folds: int = 5) -> Tuple[float, float]:
    """Returns the calibration error of predicted entities without and with a correction.

    Each fold of the labelled sentences is corrected by a fit to the other folds.
    """
    found = features.candidates
    folds = np.random.default_rng(0).permutation(len(features.num_words)) % num_folds
    is_judged = found.is_predicted & features.has_gold[found.sentences]
    corrected = np.zeros(len(is_judged))
    for fold in range(num_folds):
        of_fold = is_judged & (folds[found.sentences] == fold)
        correction = fitted_correction(features, (folds != fold).astype(float))
        corrected[of_fold] = corrected_probabilities(features, correction)[of_fold]
    before, after = (
        expected_calibration_error(count_calibration(each[is_judged], found.is_right[is_judged]))
        for each in (found.probabilities, corrected)
    )
    return before, after


def corrected_probabilities(features: SentenceFeatures, correction: Correction) -> np.ndarray:
    """Returns the corrected probabilities of all candidates, (N,)."""
    found = features.candidates
    coefficients = torch.from_numpy(correction.coefficients[found.labels])
    probabilities = torch.from_numpy(found.probabilities)
    return corrected_log_odds(probabilities, coefficients).sigmoid().numpy()


def expected_counts(
    features: SentenceFeatures, correction: Optional[Correction] = None
) -> np.ndarray:
    """Returns expected true positives, predicted and expected gold entities, (S, 3, C) float64."""
    found = features.candidates
    own = corrected = found.probabilities
    if correction is not None:
        corrected = corrected_probabilities(features, correction)
    leaks, others = _num_leaks(features), ~found.is_predicted
    if correction is None or correction.unlisted is None:
        unlisted = (leaks - _sums(features, own * others)).clip(0)
    else:
        unlisted = correction.unlisted * leaks
    num_right = _sums(features, corrected * found.is_predicted)
    num_gold = num_right + _sums(features, corrected * others) + unlisted
    return np.stack([num_right, _sums(features, found.is_predicted), num_gold], axis=1)


def true_measures(features: SentenceFeatures) -> Estimate:
    """Returns the measures of the sentences with gold tags, with intervals like those of `estimate`."""
    found = features.candidates
    right = _sums(features, found.is_right & found.is_predicted)
    counts = np.stack([right, _sums(features, found.is_predicted), features.num_gold], axis=1)
    return _with_intervals(counts * features.has_gold[:, np.newaxis, np.newaxis], features)


def measures(counts: np.ndarray) -> np.ndarray:
    """Returns precision, recall and F1, (..., 3, C + 1), by label and overall; counts, (..., 3, C)."""
    counts = np.concatenate([counts, counts.sum(-1, keepdims=True)], axis=-1).astype(float)
    right, predicted, gold = np.moveaxis(counts, -2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [right / predicted, right / gold, 2 * right / (predicted + gold)]
    return np.stack(shares, axis=-2)


def estimate(new: SentenceFeatures, correction: Optional[Correction] = None) -> Estimate:
    """Estimates the measures of new texts.

    The intervals cover the choice of groups, but not errors in the probabilities. The correction may be
    the archive's own `recalibration`.
    """
    return _with_intervals(expected_counts(new, correction), new)


def estimate_corrected(new: SentenceFeatures, labelled: SentenceFeatures) -> Estimate:
    """Estimates the measures of new texts, corrected with labelled ones.

    The intervals cover the choice of groups, in both new and labelled texts.
    """
    values = measures(expected_counts(new, fitted_correction(labelled)).sum(0))
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(NUM_RESAMPLES):
        weights, weights_of_new = (
            np.bincount(rng.integers(0, n, n), minlength=n)[each.groups.of_sentence]
            for each, n in ((each, each.groups.number) for each in (labelled, new))
        )
        counts = expected_counts(new, fitted_correction(labelled, weights))
        drawn.append(measures(np.tensordot(weights_of_new, counts, axes=1)))
    return Estimate(values, *percentile_intervals(np.stack(drawn)))


def _with_intervals(counts: np.ndarray, features: SentenceFeatures) -> Estimate:
    intervals = bootstrap_intervals(features.groups.sums(counts), measures)
    return Estimate(measures(counts.sum(0)), *intervals)


def _num_leaks(features: SentenceFeatures) -> np.ndarray:
    """Returns how many entities the tagger expects to miss, (S, C), without a correction."""
    found = features.candidates
    return (features.num_expected - _sums(features, found.probabilities * found.is_predicted)).clip(
        0
    )


def _sums(features: SentenceFeatures, values: np.ndarray) -> np.ndarray:
    """Sums values of candidates, (N,), by sentence and label, (S, C)."""
    sums = np.zeros(features.num_expected.shape)
    np.add.at(sums, (features.candidates.sentences, features.candidates.labels), values)
    return sums
