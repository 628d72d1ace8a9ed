"""Precision, recall and F1 of labels from counts: pure functions on arrays.

Letters: `C` labels.

Counts are int64 arrays (3, C). They hold, for each label, how often it is both predicted and gold (true
positives), how often it is predicted, and how often it is gold. Counts of batches and of workers can be
added up.

Precision is undefined for a label that is never predicted, recall for one that is never gold, and F1 for
one that is neither. Each is then 0, because JSON and AllenNLP's choice of the best epoch need a number.
The counts say that it is undefined, and `format_metrics` shows a dash.
"""

from typing import Callable, Dict, Iterator, List, Sequence, Tuple

import numpy as np

MEASURES = ("precision", "recall", "f1-measure")


def counts_of_confusions(confusions: np.ndarray, num_labels: int) -> np.ndarray:
    """Returns true positives, predicted and gold of each label, (3, C) int64.

    Args:
        confusions: int64, a row for each gold class and a column for each predicted one. The labels
            come first, then the classes that are no labels.
        num_labels: C.
    """
    true_positives = confusions.diagonal()[:num_labels]
    return np.stack(
        [true_positives, confusions.sum(0)[:num_labels], confusions.sum(1)[:num_labels]]
    )


def named_confusions(
    confusions: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> Iterator[Tuple[str, int]]:
    """Yields a name such as `LOC>PER`, gold first, and a count for each cell that is not 0.

    Example:
        >>> dict(named_confusions(np.array([[5, 2], [0, 7]]), ["LOC", "O"], ["LOC", "O"]))
        {'LOC>LOC': 5, 'LOC>O': 2, 'O>O': 7}
    """
    for i, j in np.argwhere(confusions):
        yield f"{rows[i]}>{columns[j]}", int(confusions[i, j])


def precision_recall_f1(counts: np.ndarray) -> np.ndarray:
    """Returns precision, recall and F1, 0 where they are undefined.

    Args:
        counts: (3, ...) true positives, predicted and gold.

    Returns:
        (3, ...) float64.

    Example:
        >>> precision_recall_f1(np.array([[3, 0], [4, 0], [6, 2]])).tolist()
        [[0.75, 0.0], [0.5, 0.0], [0.6, 0.0]]
    """
    true_positives, num_predicted, num_gold = counts
    return np.stack(
        [
            _divide(true_positives, num_predicted),
            _divide(true_positives, num_gold),
            _divide(2 * true_positives, num_predicted + num_gold),
        ]
    )


def macro_average(counts: np.ndarray) -> List[float]:
    """Returns mean precision, recall and F1 of the labels that are gold or predicted somewhere.

    This is seqeval's macro average, for comparison with published results: an undefined precision or
    recall counts as 0. If no label is gold or predicted, all three means are 0.
    """
    occurs = counts.any(axis=0)
    metrics = precision_recall_f1(counts[:, occurs])
    return metrics.mean(axis=1).tolist() if occurs.any() else [0.0] * 3


def macro_average_of_draws(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns mean precision, recall and F1 of the labels that occur in some data, for draws from these.

    A label that a draw lacks keeps the values that it has in all data: without it, the mean would be
    that of frequent labels.

    Args:
        sums: (R, 3, C), the counts of R draws.
        counts: (3, C), those of all data.

    Returns:
        (3, R).
    """
    of_all, of_draws = precision_recall_f1(counts), precision_recall_f1(np.moveaxis(sums, 1, 0))
    by_label = np.where(sums[:, 1:].any(axis=1), of_draws, of_all[:, np.newaxis])
    return by_label.sum(axis=2) / max(counts.any(axis=0).sum(), 1)


def mean_of_defined(counts: np.ndarray) -> List[float]:
    """Returns mean precision, recall and F1, each over the labels for which it is defined.

    This is scikit-learn's macro average with `zero_division=nan`. If a measure is defined for no label,
    its mean is 0.

    Example:
        >>> mean_of_defined(np.array([[3, 0, 0], [4, 0, 0], [6, 2, 0]]))
        [0.75, 0.25, 0.3]
    """
    _, num_predicted, num_gold = counts
    is_defined = np.stack([num_predicted, num_gold, num_predicted + num_gold]) > 0
    # What is undefined adds 0.
    return _divide(precision_recall_f1(counts).sum(axis=1), is_defined.sum(axis=1)).tolist()


def metrics_by_label(
    labels: Sequence[str],
    counts: np.ndarray,
    average: Callable[[np.ndarray], List[float]] = macro_average,
) -> Dict[str, float]:
    """Returns the metrics of each label, and their averages, by name.

    Args:
        labels: The C labels.
        counts: (3, C) int64, see the top of this module.
        average: Computes the means over labels, `macro_average` or `mean_of_defined`.

    Returns:
        `precision-PER`, `recall-PER`, `f1-measure-PER`, `num-gold-PER` and `num-predicted-PER` for each
        label; with the suffix `-overall` those of all labels together (micro average), and with `-macro`
        the means over labels, without numbers. If a label is called `overall` or `macro`, the average
        takes its place.

    Example:
        >>> metrics = metrics_by_label(["LOC", "PER"], np.array([[3, 0], [4, 0], [6, 2]]))
        >>> metrics["f1-measure-LOC"], metrics["num-gold-overall"]
        (0.6, 8)
    """
    total = counts.sum(axis=1)
    by_name = dict(zip(labels, precision_recall_f1(counts).T.tolist()))
    by_name.update(overall=precision_recall_f1(total).tolist(), macro=average(counts))
    metrics = {
        f"{measure}-{name}": value
        for name, values in by_name.items()
        for measure, value in zip(MEASURES, values)
    }
    for count, row in (("num-predicted", 1), ("num-gold", 2)):
        metrics.update(zip((f"{count}-{label}" for label in labels), counts[row].tolist()))
        metrics[f"{count}-overall"] = int(total[row])
    return metrics


def _divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    quotient = np.zeros(np.shape(denominator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)
