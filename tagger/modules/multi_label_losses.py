"""Losses of items, tokens or whole texts, that may have several labels."""

from typing import Any, Dict, List, Optional

import torch

from tagger.common.from_allennlp import ConfigurationError, Registrable, Vocabulary
from tagger.common.ranges import check_number
from tagger.common.training_counts import (
    AwaitedCounts,
    CountedLabels,
    LabelCounts,
    inverse_effective_number,
)
from tagger.common.vocabulary import check_is_label, tags_in_order
from tagger.modules import loss_formulas as formulas
from tagger.modules.class_weights import check_weight
from tagger.modules.weight_rules import WeightRule


class MultiLabelLoss(torch.nn.Module, Registrable):
    """The loss of items, tokens or whole texts, that may have several labels or none.

    A loss implements `label_losses`. One of its numbers out of range is a `ConfigurationError`.
    """

    default_implementation = "binary_cross_entropy"

    def forward(
        self, scores: torch.Tensor, gold_labels: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """Sums the losses of each item's known labels.

        It is a sum, so that a known label counts the same whether or not other labels of the item are
        unknown. Half precision is computed in single.

        Args:
            scores: (..., C), log-odds of each label, finite where they count.
            gold_labels: (..., C), 1 where the item has the label, 0 where it has not, -1 where this is
                unknown. The score of an unknown label changes neither loss nor gradient.
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
        if scores.dtype in (torch.float16, torch.bfloat16):
            scores = scores.float()
        zeros = torch.zeros_like(scores)
        # Before the losses too, because a NaN would pass the gradient of the `where` after them.
        losses = self.label_losses(torch.where(known, scores, zeros), gold_labels > 0)
        return torch.where(known, losses, zeros).sum(-1)

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        """The loss of each label; unknown labels are taken for negatives.

        Args:
            scores: (..., C), finite, single or double precision.
            positives: (..., C) bool, whether the item is known to have the label.
        """
        raise NotImplementedError


@MultiLabelLoss.register("binary_cross_entropy")
class BinaryCrossEntropyLoss(MultiLabelLoss):
    """`-w log p` for positives and `-log (1 - p)` for negatives, each label by itself.

    The weights `w` are a buffer, saved with the model; 1 unless they are given.

    Args:
        positive_weights: A weight by label for positives; labels that are not named weigh 1.
        weight_rule: Derives each label's weight from its `n` positives and `N - n` negatives in
            training, as the positives' weight over the negatives'. Under `balanced` it is
            `(N - n) / n`, which gives both the same total. The trainer needs the callback
            `training_counts`.
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
            labels = tags_in_order(vocab, label_namespace)
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
            # In place: `DistributedDataParallel` keeps the buffers that it has seen.
            self.positive_weights[k] = positive / negative

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        if self._awaited is not None:
            self._awaited.check_have_come(self.positive_weights)
        terms = formulas.focal_terms(scores, positives, gamma=0)
        return torch.where(positives, self.positive_weights * terms, terms)


@MultiLabelLoss.register("focal")
class MultiLabelFocalLoss(MultiLabelLoss):
    """`-a (1 - q)^gamma log q`, `q` the probability of what is right (Lin et al. 2017).

    `a` is `alpha` for positives and `1 - alpha` for negatives. Without `alpha` it is 1 for both, as in
    Huang et al. 2021.

    Args:
        gamma: How much labels that the model has learnt lose weight; 0 gives binary cross-entropy.
        alpha: The share of positives, between 0 and 1.
    """

    def __init__(self, gamma: float = 2.0, alpha: Optional[float] = None) -> None:
        super().__init__()
        formulas.check_gamma(gamma)
        if alpha is not None:
            check_number("alpha", alpha, 0 < alpha < 1, "above 0 and below 1")
        self.gamma, self.alpha = gamma, alpha

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        terms = formulas.focal_terms(scores, positives, self.gamma)
        if self.alpha is None:
            return terms
        return torch.where(positives, self.alpha * terms, (1 - self.alpha) * terms)


class CountedMultiLabelLoss(MultiLabelLoss):
    """A focal loss that knows how often training shows each label.

    The counts come from the trainer's callback `training_counts` or from the arguments, and are saved
    with the model. Until they are known, computing the loss raises a `RuntimeError`.

    Args:
        gamma: The exponent of the focal factor.
        label_counts: The number of training items that have each label, if no trainer supplies it.
        num_items: The number of training items, if no trainer supplies it.
        vocab: Holds the labels; the model in a config supplies it.
        label_namespace: The vocabulary's namespace of the labels.

    Raises:
        ConfigurationError: If both numbers and the vocabulary are missing, or as `CountedLabels` does.
    """

    def __init__(
        self,
        gamma: float = 2.0,
        label_counts: Optional[List[int]] = None,
        num_items: Optional[int] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        formulas.check_gamma(gamma)
        self.gamma = gamma
        self.counts = CountedLabels(label_counts, num_items, vocab, label_namespace)

    def forward(
        self, scores: torch.Tensor, gold_labels: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        self.counts.check_known()
        return super().forward(scores, gold_labels, mask)

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        return self.weights(positives) * self.terms(scores, positives)

    def weights(self, positives: torch.Tensor) -> torch.Tensor:
        """What the term of each label weighs, (C,) or (..., C); here 1."""
        return torch.ones_like(self.counts.label_counts)

    def terms(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        """The unweighted loss of each label, (..., C)."""
        return formulas.focal_terms(scores, positives, self.gamma)


class _ClassBalanced(torch.nn.Module):
    counts: CountedLabels

    def __init__(self, beta: float = 0.9, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        formulas.check_class_balancing(beta)
        self.beta = beta

    def weights(self, positives: torch.Tensor) -> torch.Tensor:
        return inverse_effective_number(self.counts.label_counts, self.beta)


class _Rebalanced(torch.nn.Module):
    counts: CountedLabels

    def __init__(
        self, alpha: float = 0.1, beta: float = 10.0, mu: float = 0.9, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        formulas.check_rebalancing(alpha, beta, mu)
        self.rebalancing = (alpha, beta, mu)

    def weights(self, positives: torch.Tensor) -> torch.Tensor:
        counts = self.counts.label_counts
        return formulas.rebalancing_weights(positives, counts, *self.rebalancing)


@MultiLabelLoss.register("class_balanced_focal")
class ClassBalancedFocalLoss(_ClassBalanced, CountedMultiLabelLoss):
    """CB: `(1 - b) / (1 - b^n)` times the focal loss of each label (Cui et al. 2019; Huang et al. 2021).

    Args:
        beta: `b`. With .9, the papers' value for texts, all labels seen more than about 40 times weigh
            the same. For tokens, of which there are many more, take .999 or above. The loss gets
            smaller with `1 - b`.
        **kwargs: The arguments of `CountedMultiLabelLoss`.
    """


@MultiLabelLoss.register("rebalanced_focal")
class RebalancedFocalLoss(_Rebalanced, CountedMultiLabelLoss):
    """R-FL: `alpha + sigmoid(beta (r - mu))` times the focal loss of each label (Huang et al. 2021).

    `r` compares the rarity of a label with that of the item's positives; `rebalancing_weights` defines
    it, for items without a positive too. Labels that the item may have, but is not known to have, are
    not among these positives.

    Args:
        alpha: The least weight.
        beta: How steeply weights rise with `r`.
        mu: The `r` in the middle of the rise.
        **kwargs: The arguments of `CountedMultiLabelLoss`.
    """


@MultiLabelLoss.register("negative_tolerant")
class NegativeTolerantLoss(CountedMultiLabelLoss):
    """NTR-FL: the focal loss of scores minus `v = kappa log(N / n - 1)`, with scaled negatives.

    After Huang et al. 2021, who take the regularization from Wu et al. 2020. A negative's score is
    multiplied by `lambda` and its loss divided by it; see `negative_tolerant_terms`. Predictions use
    the plain scores, so thresholds other than .5 may be better: see the callback `tune_thresholds`.

    Args:
        kappa: The size of the bias; 0 for none.
        negative_scale: `lambda`; 1 treats negatives as positives.
        **kwargs: The arguments of `CountedMultiLabelLoss`.
    """

    def __init__(self, kappa: float = 0.05, negative_scale: float = 2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_number("kappa", kappa, kappa >= 0, "at least 0, 0 for no bias")
        is_valid = negative_scale > 0
        check_number("negative_scale", negative_scale, is_valid, "above 0, 1 to treat all alike")
        self.kappa, self.negative_scale = kappa, negative_scale

    def terms(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        bias = formulas.prior_bias(self.counts.label_counts, self.counts.num_items, self.kappa)
        return formulas.negative_tolerant_terms(
            scores, positives, bias, self.negative_scale, self.gamma
        )


@MultiLabelLoss.register("class_balanced_negative_tolerant")
class ClassBalancedNegativeTolerantLoss(_ClassBalanced, NegativeTolerantLoss):
    """CB-NTR: `(1 - b) / (1 - b^n)` times the negative-tolerant loss of each label (Huang et al. 2021).

    Args:
        beta: `b`, as in `ClassBalancedFocalLoss`; for tokens take .999 or above.
        **kwargs: The arguments of `NegativeTolerantLoss`.
    """


@MultiLabelLoss.register("distribution_balanced")
class DistributionBalancedLoss(_Rebalanced, NegativeTolerantLoss):
    """DB: `alpha + sigmoid(beta (r - mu))` times the negative-tolerant loss of each label.

    After Wu et al. 2020 and, with the focal factor, Huang et al. 2021. The weights, with `r`, `alpha`,
    `beta` and `mu`, are those of `RebalancedFocalLoss`: they tell labels apart by the other labels of an
    item. If items have one label each, every positive has `r = 1` and the same weight, however rare it
    is, and so has every label of an item without labels. DB then degenerates;
    `class_balanced_negative_tolerant` serves rare labels better. The other arguments are those of
    `NegativeTolerantLoss`.

    Args:
        alpha: Those of `RebalancedFocalLoss`.
        beta: See `alpha`.
        mu: See `alpha`.
        **kwargs: The arguments of `NegativeTolerantLoss`.
    """
