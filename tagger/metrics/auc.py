"""The area under the ROC curve, from counts that add up: pure functions on tensors.

Letters: `C` labels, `H` bins.
"""

import torch

#: Log-odds above this are not told apart, nor log-odds below its negative.
_LIMIT = 16
_BINS_PER_UNIT = 64
NUM_BINS = 2 * _LIMIT * _BINS_PER_UNIT


def count_probabilities(
    probabilities: torch.Tensor, gold_labels: torch.Tensor, is_known: torch.Tensor
) -> torch.Tensor:
    """Counts the probabilities of negatives and of positives in bins of equal width in log-odds.

    Args:
        probabilities: (N, C), from 0 to 1 where known.
        gold_labels: (N, C), 1 for a positive, 0 for a negative.
        is_known: (N, C) bool, which of these count.

    Returns:
        (2, C, H) int64, negatives first. Counts of batches and of workers can be added up.
    """
    num_labels = gold_labels.shape[1]
    log_odds = torch.logit(torch.where(is_known, probabilities.double(), 0.5))
    bins = ((log_odds.clamp(-_LIMIT, _LIMIT) + _LIMIT) * _BINS_PER_UNIT).long()
    labels = torch.arange(num_labels, device=gold_labels.device)
    cells = ((gold_labels > 0) * num_labels + labels) * NUM_BINS + bins.clamp(max=NUM_BINS - 1)
    counts = torch.bincount(cells[is_known], minlength=2 * num_labels * NUM_BINS)
    return counts.view(2, num_labels, NUM_BINS)


def area_under_curve(counts: torch.Tensor) -> torch.Tensor:
    """Returns how often a positive has a higher probability than a negative; a tie counts half.

    All probabilities of one bin are ties, so odds that differ by less than 1.6 % may count as equal.

    Args:
        counts: (2, C, H), as from `count_probabilities`.

    Returns:
        (C,) float64, NaN for a label without a positive or without a negative.
    """
    negatives, positives = counts.double()
    below = negatives.cumsum(1) - negatives
    num_right = (positives * (below + negatives / 2)).sum(1)
    return num_right / (positives.sum(1) * negatives.sum(1))
