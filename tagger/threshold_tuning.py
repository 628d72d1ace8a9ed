"""Thresholds of probabilities, fitted to labelled data.

Letters: `C` labels, `N` items, `k` how many items a label is predicted for.
"""

from typing import Dict, NamedTuple, Union

import torch
from allennlp.common.checks import ConfigurationError

#: What to tune for: see `tune_thresholds`.
TuningTarget = Union[str, Dict[str, float]]


class _Cuts(NamedTuple):
    """Every way to predict each label for its k most probable items, k = 0 ... N.

    Attributes:
        true_positives: (N + 1, C) float64, how many of the k have the label.
        num_predicted: (N + 1, 1) float64, k.
        num_gold: (C,) float64, how many items have the label.
        is_possible: (N + 1, C) bool, whether a threshold parts these k from the others.
        thresholds: (N + 1, C), one that does, half way between the probabilities on both sides.
    """

    true_positives: torch.Tensor
    num_predicted: torch.Tensor
    num_gold: torch.Tensor
    is_possible: torch.Tensor
    thresholds: torch.Tensor

    def best(self, gains: torch.Tensor) -> torch.Tensor:
        """The possible cut of the highest gain, of equal ones that with the fewest predictions."""
        return gains.masked_fill(~self.is_possible, -torch.inf).argmax(0, keepdim=True)


def check_tuning_target(target: TuningTarget) -> None:
    """Raises a `ConfigurationError` unless `tune_thresholds` knows this target."""
    if target in ("micro", "macro"):
        return
    if isinstance(target, dict) and len(target) == 1:
        ((name, value),) = target.items()
        if name in ("precision", "recall") and 0 < value <= 1:
            return
    raise ConfigurationError(
        f"`target` must be 'micro', 'macro', {{'precision': p}} or {{'recall': r}}, its number above 0 "
        f"and at most 1; got {target!r}"
    )


def tune_thresholds(
    probabilities: torch.Tensor,
    targets: torch.Tensor,
    target: TuningTarget = "micro",
    default: float = 0.5,
    least_positives: int = 1,
) -> torch.Tensor:
    """Finds the thresholds that do best on these items: none of any value do better.

    A label is predicted where its probability is at least its threshold. Thresholds lie half way
    between two probabilities that occur, or between one and 0 or 1. Of equally good ones it is the one
    with the fewest predictions.

    Args:
        probabilities: (N, C), from 0 to 1.
        targets: (N, C), 1 where the item has the label, 0 where it has not, -1 where that is unknown
            and does not count.
        target: what is best. `"micro"`: F1 of all labels together. `"macro"`: the mean of their F1.
            `{"precision": p}`: for each label the highest recall at a precision of at least p, or the
            highest precision if that is out of reach. `{"recall": r}`: for each label the fewest
            predictions at a recall of at least r.
        default: the threshold of a label with fewer than `least_positives` items.
        least_positives: how many items must have a label for its threshold to be tuned, at least 1. A
            threshold that is best for one or two may predict the label everywhere in other data.

    Returns:
        (C,), of the type of `probabilities`.

    Raises:
        ConfigurationError: if `target` is none of these.
        ValueError: if the shapes differ.

    Example:
        >>> probabilities = torch.tensor([[0.9], [0.6], [0.4], [0.2]])
        >>> targets = torch.tensor([[1], [0], [1], [0]])
        >>> tune_thresholds(probabilities, targets).tolist()
        [0.30000001192092896]
        >>> tune_thresholds(probabilities, targets, {"precision": 0.9}).tolist()
        [0.75]
    """
    check_tuning_target(target)
    if probabilities.dim() != 2 or probabilities.shape != targets.shape:
        raise ValueError(
            f"`probabilities` and `targets` must have one shape (N, C); got "
            f"{tuple(probabilities.shape)} and {tuple(targets.shape)}"
        )
    cuts = _all_cuts(probabilities, targets)
    is_tuned = cuts.num_gold >= least_positives
    if target == "micro":
        is_predicted = (probabilities >= default) & (targets >= 0) & ~is_tuned
        others = torch.stack(
            [
                (is_predicted & (targets > 0)).sum(),
                is_predicted.sum(),
                cuts.num_gold[~is_tuned].sum(),
            ]
        )
        best = _best_micro_f1(cuts, is_tuned, others.double())
    elif target == "macro":
        best = cuts.best(
            2 * cuts.true_positives / (cuts.num_predicted + cuts.num_gold).clamp(min=1)
        )
    else:
        assert isinstance(target, dict)
        ((name, value),) = target.items()
        best = _least_precision(cuts, value) if name == "precision" else _least_recall(cuts, value)
    thresholds = cuts.thresholds.gather(0, best)[0]
    return torch.where(is_tuned, thresholds, torch.full_like(thresholds, default))


def _all_cuts(probabilities: torch.Tensor, targets: torch.Tensor) -> _Cuts:
    num_items, num_labels = targets.shape
    # Unknown ones last, where no cut is possible.
    known = probabilities.masked_fill(targets < 0, -1.0)
    values, order = known.sort(dim=0, descending=True)
    positives = (targets > 0).gather(0, order).double()
    # (N + 1, C), the probabilities of the last item predicted and of the first not predicted
    border = values.new_ones(1, num_labels)
    last = torch.cat([torch.nextafter(border, 2 * border), values])
    first = torch.cat([values, -border])
    middle = (last + first.clamp(min=0)) / 2
    return _Cuts(
        true_positives=torch.cat([positives.new_zeros(1, num_labels), positives.cumsum(0)]),
        num_predicted=torch.arange(num_items + 1, device=targets.device).double().unsqueeze(1),
        num_gold=positives.sum(0),
        is_possible=last > first,
        # Between neighbouring numbers the middle is one of them.
        thresholds=torch.where(middle > first, middle, last),
    )


def _best_micro_f1(cuts: _Cuts, is_tuned: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Maximises 2 TP / (predicted + gold) over the cuts of all tuned labels at once.

    After Dinkelbach 1967, "On nonlinear fractional programming": the ratio exceeds f if and only if
    2 TP - f (predicted + gold) exceeds 0, a sum over the labels.

    Args:
        cuts: of all labels.
        is_tuned: (C,) bool.
        others: (3,), true positives, predicted and gold of the labels that are not tuned, all together.
    """
    f1 = cuts.num_gold.new_zeros(())
    num_gold = cuts.num_gold[is_tuned].sum() + others[2]
    while True:
        best = cuts.best(2 * cuts.true_positives - f1 * cuts.num_predicted)
        num_right = cuts.true_positives.gather(0, best)[0, is_tuned].sum() + others[0]
        num_predicted = best[0, is_tuned].sum() + others[1]
        better = 2 * num_right / (num_predicted + num_gold).clamp(min=1)
        if better <= f1:
            return best
        f1 = better


def _least_precision(cuts: _Cuts, least: float) -> torch.Tensor:
    precision = cuts.true_positives / cuts.num_predicted.clamp(min=1)
    # A precision that falls short is below 1; one that does not has a true positive at least.
    return cuts.best(torch.where(precision >= least, cuts.true_positives, precision))


def _least_recall(cuts: _Cuts, least: float) -> torch.Tensor:
    return cuts.best((cuts.true_positives >= least * cuts.num_gold).double())
