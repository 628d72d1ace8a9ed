"""Fits probability thresholds to labelled data of C labels and N items."""

import functools
from typing import Callable, Dict, NamedTuple, Union

import torch
from allennlp.common.checks import ConfigurationError

from tagger.common.ranges import check_whole

#: The goal of tuning: see `tune_thresholds`.
TuningTarget = Union[str, Dict[str, float]]
#: A label's threshold is tuned only if at least this many development items have the label.
LEAST_POSITIVES = 5


class _Cuts(NamedTuple):
    """All ways to predict each label for its k most probable items, k = 0, ..., N."""

    #: (N + 1, C) float64, the number of these k items that have the label
    true_positives: torch.Tensor
    #: (N + 1, 1) float64, k
    num_predicted: torch.Tensor
    #: (C,) float64, the number of items with the label
    num_gold: torch.Tensor
    #: (N + 1, C) bool, whether a threshold separates these k items from the others
    is_possible: torch.Tensor
    #: (N + 1, C), such a threshold, halfway between the probabilities on both sides
    thresholds: torch.Tensor

    def f1(self) -> torch.Tensor:
        """Returns the F1 of each cut, (N + 1, C)."""
        return 2 * self.true_positives / (self.num_predicted + self.num_gold).clamp(min=1)

    def best(self, gains: torch.Tensor) -> torch.Tensor:
        """Returns the possible cut with the highest gain; ties go to the fewest predictions."""
        return gains.masked_fill(~self.is_possible, -torch.inf).argmax(0, keepdim=True)


def threshold_tuner(
    target: TuningTarget = "micro", least_positives: int = LEAST_POSITIVES, common: bool = False
) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Checks the arguments and binds them to `tune_thresholds` or `tune_common_threshold`."""
    check_tuning_target(target, common)
    check_whole("least_positives", least_positives)
    if common:
        return functools.partial(tune_common_threshold, target=target)
    return functools.partial(tune_thresholds, target=target, least_positives=least_positives)


def check_tuning_target(target: TuningTarget, common: bool = False) -> None:
    """Raises a `ConfigurationError` unless thresholds, or a common one, can be tuned for a target."""
    if common and target not in ("micro", "macro"):
        raise ConfigurationError(
            f"`common` needs the `target` 'micro' or 'macro', because one threshold cannot give each "
            f"label its precision or recall; got {target!r}; leave `common` out"
        )
    if target in ("micro", "macro"):
        return
    if isinstance(target, dict) and len(target) == 1:
        ((name, value),) = target.items()
        if name in ("precision", "recall") and 0 < value <= 1:
            return
    raise ConfigurationError(
        f"`target` must be 'micro', 'macro', {{'precision': p}} or {{'recall': r}} with a number above "
        f"0 and at most 1; got {target!r}"
    )


def tune_thresholds(
    probabilities: torch.Tensor,
    gold_labels: torch.Tensor,
    target: TuningTarget = "micro",
    default: float = 0.5,
    least_positives: int = 1,
) -> torch.Tensor:
    """Finds the optimal thresholds, (C,), for these items.

    A label is predicted if its probability is at least its threshold. Thresholds are halfway between two
    neighbouring probabilities, or between the outermost and 0 or 1. Ties go to the threshold with the
    fewest predictions.

    Args:
        probabilities: (N, C), from 0 to 1.
        gold_labels: (N, C), 1 if the item has the label, 0 if not, -1 if unknown, which is ignored.
        target: The goal. `"micro"`: the highest F1 over all labels. `"macro"`: the highest mean of the
            labels' F1. `{"precision": p}`: for each label, the highest recall at a precision of at least
            p, or the highest precision if p is out of reach. `{"recall": r}`: for each label, the fewest
            predictions at a recall of at least r.
        default: The threshold of a label with fewer than `least_positives` items.
        least_positives: The least number of items with a label for its threshold to be tuned, at least
            1.
    """
    check_tuning_target(target)
    _check_shapes(probabilities, gold_labels)
    cuts = _all_cuts(probabilities, gold_labels)
    is_tuned = cuts.num_gold >= least_positives
    if target == "micro":
        is_predicted = (probabilities >= default) & (gold_labels >= 0) & ~is_tuned
        is_right = is_predicted & (gold_labels > 0)
        others = [is_right.sum(), is_predicted.sum(), cuts.num_gold[~is_tuned].sum()]
        best = _best_micro_f1(cuts, is_tuned, torch.stack(others).double())
    elif isinstance(target, dict):
        ((name, least),) = target.items()
        best = _least_precision(cuts, least) if name == "precision" else _least_recall(cuts, least)
    else:
        best = cuts.best(cuts.f1())
    thresholds = cuts.thresholds.gather(0, best)[0]
    return torch.where(is_tuned, thresholds, torch.full_like(thresholds, default))


def tune_common_threshold(
    probabilities: torch.Tensor,
    gold_labels: torch.Tensor,
    target: TuningTarget = "micro",
    default: float = 0.5,
) -> torch.Tensor:
    """Like `tune_thresholds`, but all labels, even rare ones, share a threshold; takes no dict."""
    check_tuning_target(target, common=True)
    _check_shapes(probabilities, gold_labels)
    num_labels = gold_labels.size(1)
    if not bool((gold_labels > 0).any()):
        return torch.full_like(probabilities.sum(0), default)
    # For micro F1, pool the items of all labels into a single label.
    shape = (-1, num_labels) if target == "macro" else (-1, 1)
    cuts = _all_cuts(probabilities.reshape(shape), gold_labels.reshape(shape))
    # (N, C) or (N C, 1), the gain in F1 from also predicting an item
    gains = cuts.f1().diff(dim=0)
    known = probabilities.masked_fill(gold_labels < 0, -1.0).reshape(shape)
    # The probabilities of `gains`, and the order that sorts all of them.
    values, order = known.sort(dim=0, descending=True)[0].flatten().sort(descending=True)
    total = torch.cat([gains.new_zeros(1), gains.flatten()[order].cumsum(0)]).unsqueeze(1)
    # Unknown items come last and gain nothing.
    cuts = _all_cuts(values.unsqueeze(1), torch.zeros_like(values).unsqueeze(1))
    return cuts.thresholds.gather(0, cuts.best(total))[0].expand(num_labels).clone()


def _check_shapes(probabilities: torch.Tensor, gold_labels: torch.Tensor) -> None:
    if probabilities.dim() != 2 or probabilities.shape != gold_labels.shape:
        raise ValueError(
            f"`probabilities` and `gold_labels` must have one shape (N, C); got "
            f"{tuple(probabilities.shape)} and {tuple(gold_labels.shape)}"
        )


def _all_cuts(probabilities: torch.Tensor, gold_labels: torch.Tensor) -> _Cuts:
    num_items, num_labels = gold_labels.shape
    # Unknown items come last, where no cut is possible.
    known = probabilities.masked_fill(gold_labels < 0, -1.0)
    values, order = known.sort(dim=0, descending=True)
    positives = (gold_labels > 0).gather(0, order).double()
    # (N + 1, C), the probabilities of the last predicted item and of the first one not predicted
    border = values.new_ones(1, num_labels)
    last = torch.cat([torch.nextafter(border, 2 * border), values])
    first = torch.cat([values, -border])
    middle = (last + first.clamp(min=0)) / 2
    return _Cuts(
        true_positives=torch.cat([positives.new_zeros(1, num_labels), positives.cumsum(0)]),
        num_predicted=torch.arange(num_items + 1, device=gold_labels.device).double().unsqueeze(1),
        num_gold=positives.sum(0),
        is_possible=last > first,
        # The midpoint of two adjacent floats is one of them.
        thresholds=torch.where(middle > first, middle, last),
    )


def _best_micro_f1(cuts: _Cuts, is_tuned: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Maximises 2 TP / (predicted + gold) over the cuts of all tuned labels at once.

    After Dinkelbach 1967, "On nonlinear fractional programming": the ratio exceeds f if and only if
    2 TP - f (predicted + gold) exceeds 0, a sum over the labels. `others`, (3,), are those not tuned.
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
    # True positives are at least 1 wherever the precision reaches `least`, and so exceed any precision
    # below it.
    return cuts.best(torch.where(precision >= least, cuts.true_positives, precision))


def _least_recall(cuts: _Cuts, least: float) -> torch.Tensor:
    return cuts.best((cuts.true_positives >= least * cuts.num_gold).double())
