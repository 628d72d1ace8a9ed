"""Precision, recall and F1 of labels from counts: pure functions on arrays.

Letters: `C` labels.

Counts are int64 arrays (3, C): of each label how many there are that are predicted and gold alike
(true positives), how many predicted and how many gold. They add up over batches and over workers.
"""

from typing import Dict, Iterator, List, Sequence, Tuple

import numpy as np

MEASURES = ("precision", "recall", "f1-measure")


def counts_of_confusions(confusions: np.ndarray, num_labels: int) -> np.ndarray:
    """Returns true positives, predicted and gold of each label, (3, C) int64.

    Args:
        confusions: int64, a row for each gold class and a column for each predicted one; labels first,
            then what is no label.
        num_labels: C.
    """
    true_positives = confusions.diagonal()[:num_labels]
    return np.stack(
        [true_positives, confusions.sum(0)[:num_labels], confusions.sum(1)[:num_labels]]
    )


def named_confusions(
    confusions: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> Iterator[Tuple[str, int]]:
    """Yields `LOC>PER` and a count for each cell that is not 0; gold stands first.

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

    As in seqeval; 0 if there are none.

    Args:
        counts: (3, C) int64, see the head of this module.
    """
    occurs = counts.any(axis=0)
    scores = precision_recall_f1(counts[:, occurs])
    return scores.mean(axis=1).tolist() if occurs.any() else [0.0] * 3


def scores_by_label(labels: Sequence[str], counts: np.ndarray) -> Dict[str, float]:
    """Returns the scores of each label, and their averages, by the names that they have in metrics.

    Args:
        labels: The C labels.
        counts: (3, C) int64, see the head of this module.

    Returns:
        `precision-PER`, `recall-PER`, `f1-measure-PER` and `num-gold-PER` for each label; `-overall`, of
        all together (micro average); `-macro`, see `macro_average`, which has no number. A label of
        one of these two names gives way to the average.

    Example:
        >>> scores = scores_by_label(["LOC", "PER"], np.array([[3, 0], [4, 0], [6, 2]]))
        >>> scores["f1-measure-LOC"], scores["num-gold-overall"]
        (0.6, 8)
    """
    total = counts.sum(axis=1)
    of_names = dict(zip(labels, precision_recall_f1(counts).T.tolist()))
    of_names.update(overall=precision_recall_f1(total).tolist(), macro=macro_average(counts))
    scores = {
        f"{measure}-{name}": value
        for name, values in of_names.items()
        for measure, value in zip(MEASURES, values)
    }
    num_gold = {**dict(zip(labels, counts[2].tolist())), "overall": int(total[2])}
    return {**scores, **{f"num-gold-{name}": number for name, number in num_gold.items()}}


def _divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    quotient = np.zeros(np.shape(denominator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)
