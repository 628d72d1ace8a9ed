"""Precision, recall and F1 of labels from counts: pure functions on arrays.

Counts are int64, (3, C): how often each of C labels is both predicted and gold, predicted, and gold.
They can be added. A measure that is undefined, because a label is never predicted or never gold, is 0,
since JSON and AllenNLP's choice of the best epoch need a number. `format_metrics` shows a dash for it.
"""

from typing import Callable, Dict, Iterator, List, Sequence, Tuple

import numpy as np

from tagger.spans.matching import SCHEMES

MEASURES = ("precision", "recall", "f1-measure")
#: The class of a token without a label. It comes after the labels.
NO_LABEL = "O"
#: The metrics that fit on the trainer's single line.
_PROGRESS_METRICS = ("accuracy", "f1-measure-overall", "f1-measure-macro")


def counts_of_confusions(confusions: np.ndarray, num_labels: int) -> np.ndarray:
    """Returns (3, C) counts from a table of gold rows and predicted columns, labels first."""
    true_positives = confusions.diagonal()[:num_labels]
    return np.stack(
        [true_positives, confusions.sum(0)[:num_labels], confusions.sum(1)[:num_labels]]
    )


def named_confusions(
    confusions: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> Iterator[Tuple[str, int]]:
    """Yields a name such as `LOC>PER`, gold first, and a count for each cell that is not 0."""
    for i, j in np.argwhere(confusions):
        yield f"{rows[i]}>{columns[j]}", int(confusions[i, j])


def precision_recall_f1(counts: np.ndarray) -> np.ndarray:
    """Returns precision, recall and F1, (3, ...) float64, of counts (3, ...); 0 where undefined."""
    true_positives, num_predicted, num_gold = counts
    totals = np.stack([num_predicted, num_gold, num_predicted + num_gold])
    return _divide(np.stack([true_positives, true_positives, 2 * true_positives]), totals)


def macro_average(counts: np.ndarray) -> List[float]:
    """Returns seqeval's macro average: an undefined precision or recall counts as 0.

    The mean is over the labels that are gold or predicted somewhere; without any it is 0.
    """
    occurs = counts.any(axis=0)
    metrics = precision_recall_f1(counts[:, occurs])
    return metrics.mean(axis=1).tolist() if occurs.any() else [0.0] * 3


def macro_average_of_draws(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the macro averages, (3, R), of R draws with counts `sums`, (R, 3, C), from all data.

    A label that a draw lacks gets its values on all data; otherwise the mean would be over frequent
    labels only.
    """
    of_all, of_draws = precision_recall_f1(counts), precision_recall_f1(np.moveaxis(sums, 1, 0))
    by_label = np.where(sums[:, 1:].any(axis=1), of_draws, of_all[:, np.newaxis])
    return by_label.sum(axis=2) / max(counts.any(axis=0).sum(), 1)


def mean_of_defined(counts: np.ndarray) -> List[float]:
    """Returns scikit-learn's macro average with `zero_division=nan`, 0 where no label defines it."""
    _, num_predicted, num_gold = counts
    is_defined = np.stack([num_predicted, num_gold, num_predicted + num_gold]) > 0
    # Undefined measures add 0.
    return _divide(precision_recall_f1(counts).sum(axis=1), is_defined.sum(axis=1)).tolist()


def metrics_by_label(
    labels: Sequence[str],
    counts: np.ndarray,
    average: Callable[[np.ndarray], List[float]] = macro_average,
) -> Dict[str, float]:
    """Returns the metrics of `TagMetrics.get_metric` from counts; `-macro` is their `average`.

    The average overrides a label called `overall` or `macro`.
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
    return {**metrics, **numbers_of_labels(counts)}


def is_never_found(counts: np.ndarray) -> np.ndarray:
    """Whether each label is gold somewhere and its F1 is 0, (C,), from counts (3, C)."""
    return (counts[2] > 0) & (counts[0] == 0)


def numbers_of_labels(counts: np.ndarray, group: str = "") -> Dict[str, float]:
    """Returns how many labels are gold somewhere, and of these, how many have an F1 above 0.

    Example:
        >>> numbers_of_labels(np.array([[3, 0, 0], [3, 0, 1], [4, 2, 0]]))
        {'num-labels': 2, 'num-labels-found': 1}
    """
    num_gold, num_found = np.count_nonzero(counts[2]), np.count_nonzero(counts[0])
    return {f"num-labels{group}": int(num_gold), f"num-labels-found{group}": int(num_found)}


def partial_metrics(labels: Sequence[str], counts: np.ndarray) -> Dict[str, float]:
    """Returns precision, recall and F1 of partly right spans.

    They are computed from sums of `count_partial_matches`, for each scheme except `strict`, which has
    the metrics of spans: `exact-precision-PER`, `partial-recall-overall` and so on. With `partial`,
    half of the partial matches count as right.

    Example:
        >>> matches = [2, 0, 1, 0, 2]  # correct, incorrect, partial, missed, spurious
        >>> metrics = partial_metrics([], np.array([[matches]] * 4))
        >>> metrics["partial-precision-overall"], round(metrics["partial-recall-overall"], 3)
        (0.5, 0.833)
    """
    # (4, C + 1) each
    correct, incorrect, partial, missed, spurious = np.moveaxis(counts, 2, 0)
    num_pairs = correct + incorrect + partial
    # (3, 4, C + 1)
    measures = precision_recall_f1(
        np.stack([correct + partial / 2, num_pairs + spurious, num_pairs + missed])
    )
    return {
        f"{scheme}-{measure}-{name}": float(measures[m, s, n])
        for s, scheme in enumerate(SCHEMES)
        if scheme != "strict"
        for n, name in enumerate([*labels, "overall"])
        for m, measure in enumerate(MEASURES)
    }


def progress_metrics(metrics: Dict[str, float]) -> Dict[str, float]:
    """Returns the few metrics that the trainer shows while an epoch is under way.

    Example:
        >>> progress_metrics({"precision-PER": 0.5, "f1-measure-overall": 0.7})
        {'f1-measure-overall': 0.7}
    """
    return {name: metrics[name] for name in _PROGRESS_METRICS if name in metrics}


def _divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    quotient = np.zeros(np.shape(denominator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)
