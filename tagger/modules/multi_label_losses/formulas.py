"""The formulas of the losses over several labels, as pure functions, and the checks of their numbers.

Letters: `C` labels, `N` training items, `n_i` how many of them have label i, `z_i` its score, `y_i` 1 if
the item has it, else 0, `q_i` the probability that the model gives to `y_i`: `sigmoid(z_i)` if it is 1,
else `sigmoid(-z_i)`. `...` stands for any leading axes, such as (B, T).

Sources: Huang et al. 2021, "Balancing methods for multi-label text classification with long-tailed class
distribution", section 3; Wu et al. 2020, "Distribution-balanced loss for multi-label classification in
long-tailed datasets", section 3; Lin et al. 2017, "Focal loss for dense object detection".
"""

import torch
from torch.nn.functional import logsigmoid

from tagger.modules.check_number import check_number


def focal_terms(scores: torch.Tensor, positives: torch.Tensor, gamma: float) -> torch.Tensor:
    """Returns `-(1 - q_i)^gamma log q_i`, which is binary cross-entropy for `gamma` 0.

    Args:
        scores: (..., C), finite log-odds.
        positives: (..., C) bool, whether `y_i` is 1.
        gamma: How much labels that the model has learnt lose weight, at least 0.
    """
    of_target = torch.where(positives, scores, -scores)
    # In log space the power's slope is finite for every gamma.
    return -torch.exp(gamma * logsigmoid(-of_target)) * logsigmoid(of_target)


def negative_tolerant_terms(
    scores: torch.Tensor,
    positives: torch.Tensor,
    bias: torch.Tensor,
    negative_scale: float,
    gamma: float,
) -> torch.Tensor:
    """Returns the focal terms of the scores minus their bias, with scaled negatives.

    With `s_i = z_i - v_i` it is the term of `s_i` if `y_i = 1`, else the term of `lambda s_i` divided by
    `lambda` (Wu et al., "negative-tolerant regularization"). So negatives, which are far more frequent,
    stop earlier to push a score down.

    Args:
        scores: (..., C), finite log-odds.
        positives: (..., C) bool, whether `y_i` is 1.
        bias: (C,), `v_i`.
        negative_scale: `lambda`, above 0.
        gamma: As in `focal_terms`.
    """
    shifted = scores - bias
    scale = torch.where(positives, scores.new_ones(()), scores.new_tensor(negative_scale))
    return focal_terms(scale * shifted, positives, gamma) / scale


def prior_bias(label_counts: torch.Tensor, num_items: torch.Tensor, kappa: float) -> torch.Tensor:
    """Returns `v_i = kappa log(N / n_i - 1)`, the scaled prior log-odds against each label.

    A label that no item has counts as if one item had it; a label that all items have counts as if one
    lacked it.

    Args:
        label_counts: (C,), `n_i`.
        num_items: (), `N`.
        kappa: At least 0; 0 gives no bias.
    """
    num_without = (num_items - label_counts).clamp(min=1)
    return kappa * torch.log(num_without / label_counts.clamp(min=1))


def rebalancing_weights(
    positives: torch.Tensor, label_counts: torch.Tensor, alpha: float, beta: float, mu: float
) -> torch.Tensor:
    """Returns `alpha + sigmoid(beta (r_i - mu))` with `r_i = (1 / n_i) / sum_{j: y_j = 1} (1 / n_j)`.

    If every label draws its items equally often, `r_i` is the share of an item's draws that label i
    makes (Wu et al., "re-balanced weighting"). Rare labels weigh more; negatives of frequent labels
    weigh less beside a rare positive.

    An item with a single positive has `r = 1` there. No label draws an item without a positive; we set
    `r = 1` for all its labels, as if each drew it alone. The papers have no such items. A label that no
    item has counts as if one item had it.

    Args:
        positives: (..., C) bool, whether the item is known to have the label.
        label_counts: (C,), `n_i`.
        alpha: The least weight, at least 0.
        beta: How steeply weights rise with `r`.
        mu: The `r` in the middle of the rise.

    Returns:
        (..., C), between `alpha` and `alpha + 1`, without a gradient.
    """
    # (C,)
    rarity = 1 / label_counts.clamp(min=1)
    # (..., 1)
    drawn = (positives * rarity).sum(-1, keepdim=True)
    relative = torch.where(drawn > 0, rarity / drawn, torch.ones_like(rarity))
    return alpha + torch.sigmoid(beta * (relative - mu))


def check_rebalancing(alpha: float, beta: float, mu: float) -> None:
    """Raises a `ConfigurationError` unless `rebalancing_weights` is defined for these numbers."""
    check_number("alpha", alpha, alpha >= 0, "at least 0")
    check_number("beta", beta, beta >= 0, "at least 0, for equal weights")
    check_number("mu", mu, True, "a finite number")


def check_class_balancing(beta: float) -> None:
    """Raises a `ConfigurationError` unless `inverse_effective_number` is defined for `beta`."""
    check_number("beta", beta, 0 <= beta < 1, "at least 0, for equal weights, and below 1")
