"""The formulas of the losses, as pure functions, and the checks of their numbers.

For tokens with one tag each: `N` tokens, `K` tags, `y` a token's gold tag, `p_k` the softmax of its
scores. The losses take `scores`, (N, K), in nats, and `gold_tags`, (N,) int64 in [0, K), and return
(N,). A score of -inf makes a tag impossible; each token must have at least one possible tag. No gradient
is NaN.

For several labels: `C` labels, `N` training items, `n_i` how many of them have label i, `z_i` its
score, `y_i` 1 if the item has it, else 0, `q_i` the probability that the model gives to `y_i`:
`sigmoid(z_i)` if it is 1, else `sigmoid(-z_i)`. The losses take `scores`, (..., C) finite log-odds, with
any leading axes, such as (B, T), and `positives`, (..., C) bool, whether `y_i` is 1.

Sources of the latter: Huang et al. 2021, "Balancing methods for multi-label text classification with
long-tailed class distribution", section 3; Wu et al. 2020, "Distribution-balanced loss for multi-label
classification in long-tailed datasets", section 3; Lin et al. 2017, "Focal loss for dense object
detection".
"""

from typing import Tuple

import torch
from torch.nn.functional import logsigmoid

from tagger.common.ranges import check_number


def focal_log_probabilities(log_probabilities: torch.Tensor, gamma: float) -> torch.Tensor:
    """`(1 - p)^gamma log p` (Lin et al. 2017, "Focal loss for dense object detection", equation 4).

    Log p may have any shape, and be -inf; `gamma` is at least 0. Slopes are finite at p = 0 and 1 too.
    """
    if not gamma:
        return log_probabilities
    limits = torch.finfo(log_probabilities.dtype)
    # At p = 0 the factor is 1 and flat, but its gradient would be computed as 0 * inf.
    misses = -torch.expm1(log_probabilities.clamp(min=limits.min))
    # At p = 1 the slope of a power below 1 is infinite.
    return misses.clamp(min=limits.tiny) ** gamma * log_probabilities


def merge_tags(scores: torch.Tensor, tag_sets: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Merges the tags of a set into its most probable one, which gets the sum of their probabilities.

    Args:
        scores: (N, K).
        tag_sets: (N, K) bool, the set of tags that each token may have, none of them empty.

    Returns:
        The scores, (N, K), -inf for the other tags of the set; and the tags, (N,) int64.
    """
    of_set = scores.masked_fill(~tag_sets, -torch.inf)
    highest, best = of_set.max(-1)
    # The slope of a log-sum of impossible tags is NaN.
    is_possible = (highest > -torch.inf).unsqueeze(-1)
    total = torch.where(is_possible, of_set, torch.zeros_like(of_set)).logsumexp(-1, keepdim=True)
    merged = torch.where(is_possible, total, torch.full_like(total, -torch.inf))
    # Of impossible tags, the maximum need not be in the set.
    gold_tags = torch.where(is_possible.squeeze(-1), best, tag_sets.int().argmax(-1))
    is_gold = torch.nn.functional.one_hot(gold_tags, scores.size(-1)).bool()
    return torch.where(is_gold, merged, scores.masked_fill(tag_sets, -torch.inf)), gold_tags


def gold_log_probabilities(scores: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
    """`log p_y`, -inf where the gold tag is impossible."""
    return _of_gold(scores.log_softmax(-1), gold_tags)


def cross_entropy(
    scores: torch.Tensor, gold_tags: torch.Tensor, label_smoothing: float = 0.0
) -> torch.Tensor:
    """`-log p_y`; with smoothing, against a target that gives that share to all possible tags alike.

    Szegedy et al. 2016, "Rethinking the Inception architecture for computer vision", section 7, have no
    impossible tags.
    """
    log_probabilities = scores.log_softmax(-1)
    of_gold = -_of_gold(log_probabilities, gold_tags)
    if not label_smoothing:
        return of_gold
    is_possible = log_probabilities > -torch.inf
    of_all = -torch.where(is_possible, log_probabilities, torch.zeros_like(log_probabilities))
    return (1 - label_smoothing) * of_gold + label_smoothing * of_all.sum(-1) / is_possible.sum(-1)


def dice_loss(
    scores: torch.Tensor,
    gold_tags: torch.Tensor,
    alpha: float,
    smoothing: float,
    of_each_token: bool = False,
) -> torch.Tensor:
    """`N sum_k (q_k - [k = y])^2 / D_k` with `D_k = s + sum_tokens (q_k^2 + [k = y])`.

    The mean over the tokens is `sum_k 1 - (2 sum_tokens q_k [k = y] + s) / D_k`, one minus the Dice
    coefficient of each tag over all tokens. `q_k = (1 - p_k)^alpha p_k` with `alpha` at least 0, and `s`
    is the smoothing, above 0.

    With `of_each_token`, the sums are over each token alone: `sum_k (q_k - [k = y])^2 / D_k`, one minus
    the token's own coefficient of each tag.
    """
    # (N, K)
    p = scores.softmax(-1)
    # At p = 1 the slope of a power below 1 is infinite.
    q = _sum_of_others(p).clamp(min=torch.finfo(p.dtype).tiny) ** alpha * p
    is_gold = torch.nn.functional.one_hot(gold_tags, scores.size(-1)).to(q.dtype)
    if of_each_token:
        return ((q - is_gold) ** 2 / (smoothing + q**2 + is_gold)).sum(-1)
    # (K,)
    sizes = smoothing + (q**2 + is_gold).sum(0)
    return len(scores) * ((q - is_gold) ** 2 / sizes).sum(-1)


def _sum_of_others(p: torch.Tensor) -> torch.Tensor:
    """`1 - p`, (N, K), of which subtraction would leave nothing where a tag is sure."""
    # (N, K + 1), from 0 to the sum of all
    up_to = torch.nn.functional.pad(p, (1, 0)).cumsum(-1)
    from_on = torch.nn.functional.pad(p.flip(-1), (1, 0)).cumsum(-1).flip(-1)
    return up_to[:, :-1] + from_on[:, 1:]


def mean_over_known(
    losses: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """The mean loss of the tokens with a known gold tag, a scalar, 0 if there is none.

    Args:
        losses: (B, T), 0 at all other tokens, as a `TokenLoss` returns them.
        gold_tags: (B, T) int64, -1 where unknown; or (B, T, K) bool, as a `TokenLoss` takes them.
        mask: (B, T) bool.
    """
    return losses.sum() / (mask & are_known(gold_tags)).sum().clamp(min=1)


def are_known(gold_tags: torch.Tensor) -> torch.Tensor:
    """Which gold tags are known, (B, T) bool: those that are not -1, and sets that lack a tag."""
    return ~gold_tags.all(2) if gold_tags.dim() == 3 else gold_tags >= 0


def focal_terms(scores: torch.Tensor, positives: torch.Tensor, gamma: float) -> torch.Tensor:
    """Returns `-(1 - q_i)^gamma log q_i`, `gamma` at least 0; binary cross-entropy for 0."""
    of_target = torch.where(positives, scores, -scores)
    # In log space the power's slope is finite for every gamma.
    return -torch.exp(gamma * logsigmoid(-of_target)) * logsigmoid(of_target)


def margin_terms(scores: torch.Tensor, gamma: float, margin: float) -> torch.Tensor:
    """Returns `-r^gamma log (1 - r)` with `r = max(p - margin, 0)`, `p` the sigmoid of the score.

    The loss of negatives of Ridnik et al. 2021, "Asymmetric loss for multi-label classification".
    """
    # The slope of a power below 1 is infinite at 0.
    r = (torch.sigmoid(scores) - margin).clamp(min=torch.finfo(scores.dtype).tiny)
    return -(r**gamma) * (torch.log1p(-r) if margin else logsigmoid(-scores))


def hill_terms(scores: torch.Tensor, steepness: float) -> torch.Tensor:
    """Returns `(steepness - p) p^2`, `p` the sigmoid of the score.

    The loss of negatives of Zhang et al. 2021, "Simple and robust loss design for multi-label learning
    with missing labels".
    """
    p = torch.sigmoid(scores)
    return (steepness - p) * p**2


def log_one_plus_sum(scores: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Returns `log(1 + sum of exp(z_i))` over the chosen labels, (...); `chosen` is (..., C) bool."""
    terms = scores.masked_fill(~chosen, -torch.inf)
    return torch.cat([torch.zeros_like(scores[..., :1]), terms], -1).logsumexp(-1)


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
        scores: (..., C).
        positives: (..., C).
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
    lacked it. `label_counts` is (C,), `n_i`; `num_items` is (), `N`; `kappa` is at least 0.
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


def check_gamma(gamma: float, name: str = "gamma") -> None:
    """Raises a `ConfigurationError` unless `gamma` is finite and at least 0."""
    check_number(name, gamma, gamma >= 0, "a finite number of at least 0, 0 for no focal factor")


def check_rebalancing(alpha: float, beta: float, mu: float) -> None:
    """Raises a `ConfigurationError` unless `rebalancing_weights` is defined for these numbers."""
    check_number("alpha", alpha, alpha >= 0, "at least 0")
    check_number("beta", beta, beta >= 0, "at least 0, for equal weights")
    check_number("mu", mu, True, "a finite number")


def check_class_balancing(beta: float) -> None:
    """Raises a `ConfigurationError` unless `inverse_effective_number` is defined for `beta`."""
    check_number("beta", beta, 0 <= beta < 1, "at least 0, for equal weights, and below 1")


def _of_gold(values: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
    return values.gather(-1, gold_tags.unsqueeze(-1)).squeeze(-1)
