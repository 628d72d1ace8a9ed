"""How well predicted probabilities agree with the share of right predictions.

Counts are float64, (3, R): for each of R bins of equal width from 0 to 1 the number of predictions, the
sum of their probabilities, and the number of right ones. Counts can be added.
"""

import numpy as np


def count_calibration(
    probabilities: np.ndarray, is_right: np.ndarray, num_bins: int = 10
) -> np.ndarray:
    """Counts predictions, right and wrong, (N,) bool, by their probabilities, (N,), from 0 to 1."""
    bins = np.clip((probabilities * num_bins).astype(np.int64), 0, num_bins - 1)
    weights = (np.ones(len(bins)), probabilities, is_right)
    return np.stack([np.bincount(bins, each, minlength=num_bins) for each in weights])


def expected_calibration_error(counts: np.ndarray) -> float:
    """Returns the gap between a bin's accuracy and its mean probability, averaged over predictions.

    After Naeini et al. 2015; Guo et al. 2017, equation 3. Without predictions it is 0.
    """
    num_predictions, total_probability, num_right = counts
    return float(np.abs(num_right - total_probability).sum() / max(num_predictions.sum(), 1))


def format_calibration_table(counts: np.ndarray) -> str:
    """Returns a table with a line for each bin that has predictions.

    If the probabilities are calibrated, the last two columns agree.

    Example:
        >>> print(format_calibration_table(np.array([[1, 3], [0.25, 2.75], [0, 3]])))
        probability  predictions  mean probability  share right
         0.00 - 0.50           1            0.2500       0.0000
         0.50 - 1.00           3            0.9167       1.0000
        calibration error 0.1250
    """
    lines = ["probability  predictions  mean probability  share right"]
    borders = np.linspace(0, 1, counts.shape[1] + 1)
    for low, high, (number, total, right) in zip(borders, borders[1:], counts.T):
        if number:
            columns = f"{number:11.0f}{total / number:18.4f}{right / number:13.4f}"
            lines.append(f"{low:5.2f} - {high:.2f} {columns}")
    return "\n".join([*lines, f"calibration error {expected_calibration_error(counts):.4f}"])
