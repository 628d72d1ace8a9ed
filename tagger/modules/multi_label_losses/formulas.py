"""The parts that losses over several labels are made of: pure functions.

Letters: `C` labels, `N` training items, `n_i` how many of them have label i, `z_i` its score, `y_i` its
target, `q_i` the probability that the model gives the target: `sigmoid(z_i)` if `y_i = 1`, else
`sigmoid(-z_i)`. `...` stands for any leading axes, such as (B, T).

Sources: Huang et al. 2021, "Balancing methods for multi-label text classification with long-tailed class
distribution", section 3; Wu et al. 2020, "Distribution-balanced loss for multi-label classification in
long-tailed datasets", section 3; Lin et al. 2017, "Focal loss for dense object detection"; Cui et al.
2019, "Class-balanced loss based on effective number of samples".
"""

import math

import torch
from torch.nn.functional import logsigmoid


def focal_terms(scores: torch.Tensor, positives: torch.Tensor, gamma: float) -> torch.Tensor:
    """Returns `-(1 - q_i)^gamma log q_i`, binary cross-entropy where gamma is 0.

    Args:
        scores: (..., C), finite log-odds.
        positives: (..., C) bool, whether the target is 1; else it is 0.
        gamma: how much labels that are learnt already lose weight, at least 0.
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
    """Returns focal terms of the scores less their bias, those of negatives scaled.

    With `s_i = z_i - v_i` it is the term of `s_i` if `y_i = 1`, else the term of `lambda s_i` divided by
    `lambda` (Wu et al., "negative-tolerant regularization"). Negatives, of which there are far more, so
    stop pushing a score down sooner.

    Args:
        scores: (..., C), finite log-odds.
        positives: (..., C) bool, whether the target is 1; else it is 0.
        bias: (C,), `v_i`.
        negative_scale: `lambda`, above 0.
        gamma: as in `focal_terms`.
    """
    shifted = scores - bias
    scale = torch.where(positives, scores.new_ones(()), scores.new_tensor(negative_scale))
    return focal_terms(scale * shifted, positives, gamma) / scale


def prior_bias(label_counts: torch.Tensor, num_items: torch.Tensor, kappa: float) -> torch.Tensor:
    """Returns `v_i = kappa log(N / n_i - 1)`, the prior log-odds against each label, scaled.

    A label that no item has counts as if one had it, and one that all have as if one lacked it.

    Args:
        label_counts: (C,), `n_i`.
        num_items: (), `N`.
        kappa: at least 0; at 0 there is no bias.
    """
    num_without = (num_items - label_counts).clamp(min=1)
    return kappa * torch.log(num_without / label_counts.clamp(min=1))


def class_balanced_weights(label_counts: torch.Tensor, beta: float) -> torch.Tensor:
    """Returns `(1 - b) / (1 - b^n_i)`, one over the effective number of items (Cui et al., equation 2).

    From 1 for a label seen once, or never, down to `1 - b` for labels seen far more than `1 / (1 - b)`
    times.

    Args:
        label_counts: (C,), `n_i`.
        beta: `b`, from 0, where all weigh 1, to below 1.
    """
    log_beta = math.log(beta) if beta else -math.inf
    # 1 - .9999^n would lose its digits in single precision.
    return (beta - 1) / torch.expm1(label_counts.clamp(min=1) * log_beta)


def rebalancing_weights(
    positives: torch.Tensor, label_counts: torch.Tensor, alpha: float, beta: float, mu: float
) -> torch.Tensor:
    """Returns `alpha + sigmoid(beta (r_i - mu))` with `r_i = (1 / n_i) / sum_{j: y_j = 1} (1 / n_j)`.

    `r_i` compares how often an item would be drawn for label i alone with how often it is drawn when
    every label draws its items equally often (Wu et al., "re-balanced weighting"). Rare labels weigh
    more, negatives of frequent labels beside a rare positive less.

    An item with a single positive has `r = 1` there. For an item without a positive, which no label
    draws, we set `r = 1` for every label, as if the label were drawn by itself; the papers have no such
    items. A label that no item has counts as if one had it.

    Args:
        positives: (..., C) bool, whether the target is known and 1.
        label_counts: (C,), `n_i`.
        alpha: the least weight, at least 0.
        beta: how steeply weights rise with `r`.
        mu: the `r` in the middle of the rise.

    Returns:
        (..., C), between `alpha` and `alpha + 1`, without a gradient.
    """
    # (C,)
    rarity = 1 / label_counts.clamp(min=1)
    # (..., 1)
    drawn = (positives * rarity).sum(-1, keepdim=True)
    relative = torch.where(drawn > 0, rarity / drawn, torch.ones_like(rarity))
    return alpha + torch.sigmoid(beta * (relative - mu))
