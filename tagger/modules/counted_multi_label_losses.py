"""Losses of items with several labels that know how often training shows each label."""

from typing import Any, List, Optional

import torch
import torch.distributed

from tagger.common.from_allennlp import Vocabulary
from tagger.common.ranges import check_number
from tagger.common.training_counts import CountedLabels, inverse_effective_number
from tagger.modules import loss_formulas as formulas
from tagger.modules.multi_label_losses import MultiLabelLoss


class CountedMultiLabelLoss(MultiLabelLoss):
    """A focal loss that knows how often training shows each label.

    The counts come from the trainer or from the arguments, and are saved
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


@MultiLabelLoss.register("self_paced_correction")
class SelfPacedCorrectionLoss(CountedMultiLabelLoss):
    """SPLC: after a first pass over the training items, probable negatives are taken for positives.

    Known positives have the focal loss of their score minus a margin, as in `HillLoss`; negatives have
    the plain focal loss. Once the warm-up is over, a negative whose probability is above `threshold`
    was probably only missed. It has the focal loss of a positive from then on, without the margin
    (Zhang et al. 2021, "Simple and robust loss design for multi-label learning with missing labels",
    section 4). Neither the count of items nor the correction touches evaluation, so that losses of
    development data can be compared between epochs.

    Args:
        threshold: Negatives that are more probable are taken for positives.
        margin: What is subtracted from the scores of known positives.
        warm_up_epochs: How often training must have seen as many items as there are before negatives are
            corrected. An item without a known label does not count.
        **kwargs: The arguments of `CountedMultiLabelLoss`.

    Attributes:
        num_seen: () int64, how many items training has seen, by all workers; saved with the model, so
            that a run that is continued goes on where it was.
    """

    num_seen: torch.Tensor

    def __init__(
        self,
        threshold: float = 0.6,
        margin: float = 1.0,
        warm_up_epochs: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_number("threshold", threshold, 0 < threshold < 1, "above 0 and below 1")
        check_number("margin", margin, margin >= 0, "at least 0")
        is_valid = warm_up_epochs >= 0
        check_number("warm_up_epochs", warm_up_epochs, is_valid, "at least 0, to correct at once")
        self.threshold, self.margin = threshold, margin
        self.warm_up_epochs = warm_up_epochs
        self.register_buffer("num_seen", torch.tensor(0))

    def item_losses(
        self, scores: torch.Tensor, positives: torch.Tensor, known: torch.Tensor
    ) -> torch.Tensor:
        losses = super().item_losses(scores, positives, known)
        if self.training:
            self.num_seen += _num_workers() * known.any(-1).sum()
        return losses

    def terms(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        shifted = torch.where(positives, scores - self.margin, scores)
        if self.training:
            # A tensor, because a GPU would have to be waited for.
            is_warm = self.num_seen >= self.warm_up_epochs * self.counts.num_items
            positives = positives | (is_warm & (torch.sigmoid(scores) > self.threshold))
        return formulas.focal_terms(shifted, positives, self.gamma)


def _num_workers() -> int:
    # Workers have batches of about the same size.
    is_distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if is_distributed else 1
