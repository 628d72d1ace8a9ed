"""Losses for items, tokens or whole texts, that may have several labels.

Letters: `C` labels. For a label, `z` is an item's score, `p` its sigmoid, `q` the probability of the
right answer (`p` or `1 - p`), and `n` how many of the `N` training items have it.
"""

from typing import Dict, Optional

import torch

from tagger.common.from_allennlp import ConfigurationError, Registrable, Vocabulary
from tagger.common.ranges import check_number
from tagger.common.training_counts import AwaitedCounts, LabelCounts
from tagger.common.vocabulary import check_is_label, tags_in_order
from tagger.modules.class_weights import check_weight
from tagger.modules.loss_formulas import check_gamma, focal_terms
from tagger.modules.weight_rules import WeightRule


class MultiLabelLoss(torch.nn.Module, Registrable):
    """The loss of items, tokens or whole texts, that may have several labels or none.

    Subclasses implement `label_losses`, or `item_losses` if labels of an item depend on each other.
    Arguments out of range raise a `ConfigurationError`.
    """

    default_implementation = "binary_cross_entropy"

    def forward(
        self, scores: torch.Tensor, gold_labels: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """Returns the loss of each item, which depends only on its known labels.

        In most losses it is the sum of the labels' losses, so a known label counts the same whether or
        not the item's other labels are known. Half precision is computed in float32.

        Args:
            scores: (..., C), log-odds of each label, finite where they count.
            gold_labels: (..., C), 1 if the item has the label, 0 if it does not, -1 if this is unknown.
                The score of an unknown label changes neither loss nor gradient.
            mask: (...) bool, the items that count; all by default.

        Returns:
            (...), 0 for an item that does not count or has no known label; always with a gradient.
        """
        if mask is None:
            mask = torch.ones_like(gold_labels[..., 0], dtype=torch.bool)
        if scores.shape != gold_labels.shape or mask.shape != scores.shape[:-1]:
            raise ValueError(
                f"`scores` and `gold_labels` must have one shape (..., C), and `mask` the shape (...); "
                f"got {tuple(scores.shape)}, {tuple(gold_labels.shape)} and {tuple(mask.shape)}"
            )
        # (..., C)
        known = mask.unsqueeze(-1) & (gold_labels >= 0)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        # Masked before the losses too, because gradients of NaN pass through the `where` after them.
        return self.item_losses(scores.masked_fill(~known, 0), gold_labels > 0, known)

    def item_losses(
        self, scores: torch.Tensor, positives: torch.Tensor, known: torch.Tensor
    ) -> torch.Tensor:
        """The loss of each item, (...); scores are at least float32, and 0 for unknown labels.

        `positives`, (..., C) bool, are the labels that the item is known to have.
        """
        return self.label_losses(scores, positives).masked_fill(~known, 0).sum(-1)

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        """The loss of each label, (..., C); arguments as for `item_losses`."""
        raise NotImplementedError


@MultiLabelLoss.register("binary_cross_entropy")
class BinaryCrossEntropyLoss(MultiLabelLoss):
    """`-w log p` for positives and `-log (1 - p)` for negatives, each label by itself.

    The weights `w` are a buffer, saved with the model; 1 unless they are given.

    Args:
        positive_weights: A weight by label for positives; labels that are not named weigh 1.
        weight_rule: Derives each label's weight from its `n` positives and `N - n` negatives in
            training, as the positives' weight divided by the negatives'. With `balanced` it is
            `(N - n) / n`, which gives both the same total.
        vocab: Holds the labels; the model in a config supplies it. Either of the two above needs it.
        label_namespace: The vocabulary's namespace of the labels.

    Raises:
        ConfigurationError: If both weights and a rule are given, the vocabulary is missing, or a weight
            is not a positive finite number or names no label.
    """

    positive_weights: torch.Tensor

    def __init__(
        self,
        positive_weights: Optional[Dict[str, float]] = None,
        weight_rule: Optional[WeightRule] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        if positive_weights is not None and weight_rule is not None:
            raise ConfigurationError("give `positive_weights` or a `weight_rule`, not both")
        self._weight_rule = weight_rule
        self._awaited: Optional[AwaitedCounts] = None
        if positive_weights is None and weight_rule is None:
            weights = torch.ones(())
        elif vocab is None:
            raise ConfigurationError(
                "`positive_weights` and `weight_rule` need `vocab` to look labels up"
            )
        elif positive_weights is not None:
            labels = dict.fromkeys(tags_in_order(vocab, label_namespace))
            for label, weight in positive_weights.items():
                check_is_label("positive_weights", label, labels)
                check_weight("positive_weights", label, weight)
            weights = torch.tensor([positive_weights.get(name, 1.0) for name in labels])
        else:
            self._awaited = AwaitedCounts(vocab, label_namespace)
            weights = torch.full((len(self._awaited.labels),), torch.nan)
        self.register_buffer("positive_weights", weights)

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Sets the weights by the rule, if there is one."""
        if self._awaited is None:
            return
        assert self._weight_rule is not None
        num_items = self._awaited.num_items(counts)
        for k, num_positives in enumerate(self._awaited.look_up(counts)):
            negative, positive = self._weight_rule([num_items - num_positives, num_positives])
            # In place, because `DistributedDataParallel` holds on to the buffers that it has seen.
            self.positive_weights[k] = positive / negative

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        if self._awaited is not None:
            self._awaited.check_have_come(self.positive_weights)
        terms = focal_terms(scores, positives, gamma=0)
        return torch.where(positives, self.positive_weights * terms, terms)


@MultiLabelLoss.register("focal")
class MultiLabelFocalLoss(MultiLabelLoss):
    """`-a (1 - q)^gamma log q` (Lin et al. 2017).

    `a` is `alpha` for positives and `1 - alpha` for negatives. Without `alpha` it is 1 for both, as in
    Huang et al. 2021.

    Args:
        gamma: How much labels that the model has learnt lose weight; 0 gives binary cross-entropy.
        alpha: The share of positives, between 0 and 1.
    """

    def __init__(self, gamma: float = 2.0, alpha: Optional[float] = None) -> None:
        super().__init__()
        check_gamma(gamma)
        if alpha is not None:
            check_number("alpha", alpha, 0 < alpha < 1, "above 0 and below 1")
        self.gamma, self.alpha = gamma, alpha

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        terms = focal_terms(scores, positives, self.gamma)
        if self.alpha is None:
            return terms
        return torch.where(positives, self.alpha * terms, (1 - self.alpha) * terms)


@MultiLabelLoss.register("asymmetric")
class AsymmetricLoss(MultiLabelLoss):
    """ASL: a focal loss with a separate exponent for negatives, which ignores easy negatives.

    `-(1 - p)^g log p` for positives and `-r^h log (1 - r)` for negatives, `r = max(p - margin, 0)`
    (Ridnik et al. 2021, "Asymmetric loss for multi-label classification").

    Args:
        positive_gamma: `g`.
        negative_gamma: `h`.
        margin: Negatives that are less probable are ignored; 0 ignores none.
    """

    def __init__(
        self, positive_gamma: float = 0.0, negative_gamma: float = 4.0, margin: float = 0.05
    ) -> None:
        super().__init__()
        check_gamma(positive_gamma, "positive_gamma")
        check_gamma(negative_gamma, "negative_gamma")
        check_number("margin", margin, 0 <= margin < 1, "at least 0 and below 1")
        self.positive_gamma, self.negative_gamma = positive_gamma, negative_gamma
        self.margin = margin

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        of_positive = focal_terms(scores, positives, self.positive_gamma)
        # The slope of a power below 1 is infinite at 0.
        r = (torch.sigmoid(scores) - self.margin).clamp(min=torch.finfo(scores.dtype).tiny)
        log_others = torch.log1p(-r) if self.margin else torch.nn.functional.logsigmoid(-scores)
        return torch.where(positives, of_positive, -(r**self.negative_gamma) * log_others)


@MultiLabelLoss.register("hill")
class HillLoss(MultiLabelLoss):
    """`(steepness - p) p^2` for negatives: weaker where a label is probably just missing.

    Positives have the focal loss of their score minus a margin (Zhang et al. 2021, "Simple and robust
    loss design for multi-label learning with missing labels").

    Args:
        steepness: `lambda`; with 1.5 the slope at probability 1 is 0.
        margin: Subtracted from the scores of positives.
        gamma: The exponent of the focal factor of positives.
    """

    def __init__(self, steepness: float = 1.5, margin: float = 1.0, gamma: float = 2.0) -> None:
        super().__init__()
        check_number("steepness", steepness, steepness >= 1, "at least 1")
        check_number("margin", margin, margin >= 0, "at least 0")
        check_gamma(gamma)
        self.steepness, self.margin, self.gamma = steepness, margin, gamma

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        p = torch.sigmoid(scores)
        of_positive = focal_terms(scores - self.margin, positives, self.gamma)
        return torch.where(positives, of_positive, (self.steepness - p) * p**2)


@MultiLabelLoss.register("zero_bounded_ranking")
class ZeroBoundedRankingLoss(MultiLabelLoss):
    """ZLPR: ranks positives above a score of 0, and negatives below.

    `log(1 + sum of exp(-z)) + log(1 + sum of exp(z))`, the first sum over an item's positives, the
    second over its negatives (Su et al. 2022, "ZLPR: a novel loss for multi-label classification"). So
    the worst labels of an item count most.
    """

    def item_losses(
        self, scores: torch.Tensor, positives: torch.Tensor, known: torch.Tensor
    ) -> torch.Tensor:
        one = torch.zeros_like(scores[..., :1])
        of_positives, of_negatives = (
            torch.cat([one, terms.masked_fill(~chosen, -torch.inf)], -1).logsumexp(-1)
            for terms, chosen in ((-scores, known & positives), (scores, known & ~positives))
        )
        return of_positives + of_negatives
