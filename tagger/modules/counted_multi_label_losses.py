"""Losses for items with several labels that depend on how often each label occurs in training.

After Huang et al. 2021, "Balancing methods for multi-label text classification with long-tailed class
distribution", section 3. The letters are those of `multi_label_losses`.
"""

from typing import Any, List, Optional, Union

import torch
import torch.distributed

from tagger.common.from_allennlp import ConfigurationError, Vocabulary
from tagger.common.ranges import check_is_one_of, check_number
from tagger.common.training_counts import CountedLabels
from tagger.modules.label_balancing import NORMS, ClassBalancing, Rebalancing, normalise_weights
from tagger.modules.loss_formulas import check_gamma, focal_terms
from tagger.modules.multi_label_losses import MultiLabelLoss


class CountedLoss(MultiLabelLoss):
    """A base loss for each label, times a weighting of the labels; both may use the labels' counts.

    The counts come from the trainer or from the arguments, and are saved with the model. Until they are
    known, computing the loss raises a `RuntimeError`. The base loss is `terms`, here the focal loss;
    `weighting` is none by default.

    Args:
        gamma: The exponent of the focal factor. What the authors' code calls `gamma` in `map_param`, and
            takes from the data, is `mu` in `RebalancedFocalLoss`.
        label_counts: The number of training items that have each label, if no trainer supplies it.
        num_items: The number of training items, if no trainer supplies it.
        vocab: Holds the labels; the model in a config supplies it.
        label_namespace: The vocabulary's namespace of the labels.
        weight_norm: `by_instance` divides the weights of an item's labels by the largest of them, and
            `by_batch` those of all items of a batch. Then the loss of an item depends on which of its
            labels are known, or on the batch. Without it, as by default, weights stay as they are.

    Raises:
        ConfigurationError: If the counts and the vocabulary are missing, or as for `CountedLabels`.
    """

    weighting: Optional[torch.nn.Module]

    def __init__(
        self,
        gamma: Union[float, str] = 2.0,
        label_counts: Optional[List[int]] = None,
        num_items: Optional[int] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
        weight_norm: Optional[str] = None,
    ) -> None:
        super().__init__()
        if isinstance(gamma, str):
            raise ConfigurationError(
                f"`gamma` must be a number, the exponent of the focal factor; got {gamma!r}; what the "
                "authors' code calls gamma and takes from the data is `mu` here: set `mu: 'auto'`"
            )
        check_gamma(gamma)
        if weight_norm is not None:
            check_is_one_of("weight_norm", weight_norm, NORMS)
        self.gamma, self.weight_norm = gamma, weight_norm
        self.weighting = None
        self.counts = CountedLabels(label_counts, num_items, vocab, label_namespace)

    def item_losses(
        self, scores: torch.Tensor, positives: torch.Tensor, known: torch.Tensor
    ) -> torch.Tensor:
        self.counts.check_known()
        terms = self.terms(scores, positives)
        if self.weighting is not None:
            weights = self.weighting(positives, self.counts.label_counts)
            terms = normalise_weights(weights, known, self.weight_norm) * terms
        return terms.masked_fill(~known, 0).sum(-1)

    def terms(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        """The unweighted loss of each label, (..., C)."""
        return focal_terms(scores, positives, self.gamma)


@MultiLabelLoss.register("class_balanced_focal")
class ClassBalancedFocalLoss(CountedLoss):
    """CB: `(1 - b) / (1 - b^n)` times the focal loss of each label (Cui et al. 2019; Huang et al. 2021).

    Args:
        beta: `b`. With 0.9, the papers' value for texts, all labels seen more than about 40 times weigh
            the same. There are many more tokens than texts, so use 0.999 or above for tokens. The loss
            shrinks with `1 - b`.
        mode: The count that a label's weight comes from, see `ClassBalancing`: `by_class`, its own, or
            those of the labels that the item has, `average_n`, `average_w` or `min_n`.
        **kwargs: The arguments of `CountedLoss`.
    """

    def __init__(self, beta: float = 0.9, mode: str = "by_class", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.weighting = ClassBalancing(beta, mode)


@MultiLabelLoss.register("rebalanced_focal")
class RebalancedFocalLoss(CountedLoss):
    """R-FL: `alpha + sigmoid(beta (r - mu))` times the focal loss of each label (Huang et al. 2021).

    `r` compares the rarity of a label with that of the item's positives; see `Rebalancing`. Labels that
    the item is not known to have do not count as positives.

    Args:
        alpha: The least weight.
        beta: How steeply weights rise with `r`.
        mu: The `r` in the middle of the rise, which the authors' code calls `gamma` and their notebook
            chooses from the data. `'auto'` computes it from the training data, see `Rebalancing`.
        **kwargs: The arguments of `CountedLoss`.
    """

    def __init__(
        self,
        alpha: float = 0.1,
        beta: float = 10.0,
        mu: Union[float, str] = 0.9,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.weighting = Rebalancing(alpha, beta, mu, self.counts.awaited_namespace())


@MultiLabelLoss.register("negative_tolerant")
class NegativeTolerantLoss(CountedLoss):
    """NTR-FL: the focal loss of scores minus `v = kappa log(N / n - 1)`, with scaled negatives.

    After Huang et al. 2021, who take the regularization from Wu et al. 2020. A negative's score, minus
    `v`, is multiplied by `lambda` and its loss divided by it, so negatives, which are far more
    frequent, push a score down less far. A label that no item has counts as if one had it; a label that
    all items have, as if one lacked it. Predictions use the plain scores, so thresholds other than 0.5
    may be better: see the callback `tune_thresholds`.

    Args:
        kappa: The size of the bias; 0 for none.
        negative_scale: `lambda`; 1 treats negatives as positives.
        **kwargs: The arguments of `CountedLoss`.
    """

    def __init__(self, kappa: float = 0.05, negative_scale: float = 2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_number("kappa", kappa, kappa >= 0, "at least 0, 0 for no bias")
        is_valid = negative_scale > 0
        check_number("negative_scale", negative_scale, is_valid, "above 0, 1 to treat all alike")
        self.kappa, self.negative_scale = kappa, negative_scale

    def terms(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        label_counts = self.counts.label_counts
        num_without = (self.counts.num_items - label_counts).clamp(min=1)
        bias = self.kappa * torch.log(num_without / label_counts.clamp(min=1))
        scale = torch.where(positives, scores.new_ones(()), scores.new_tensor(self.negative_scale))
        return focal_terms(scale * (scores - bias), positives, self.gamma) / scale


@MultiLabelLoss.register("class_balanced_negative_tolerant")
class ClassBalancedNegativeTolerantLoss(NegativeTolerantLoss):
    """CB-NTR: `(1 - b) / (1 - b^n)` times the negative-tolerant loss of each label (Huang et al. 2021).

    Args:
        beta: `b`, as in `ClassBalancedFocalLoss`; use 0.999 or above for tokens.
        mode: As in `ClassBalancedFocalLoss`.
        **kwargs: The arguments of `NegativeTolerantLoss`.
    """

    def __init__(self, beta: float = 0.9, mode: str = "by_class", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.weighting = ClassBalancing(beta, mode)


@MultiLabelLoss.register("distribution_balanced")
class DistributionBalancedLoss(NegativeTolerantLoss):
    """DB: `alpha + sigmoid(beta (r - mu))` times the negative-tolerant loss of each label.

    After Wu et al. 2020 and, with the focal factor, Huang et al. 2021. The weights are those of
    `RebalancedFocalLoss`, which depend on the item's other labels. If no item has more than one label,
    every positive has `r = 1` and so the same weight, however rare its label is. In that case,
    `class_balanced_negative_tolerant` is better for rare labels.

    Args:
        alpha, beta, mu: Those of `RebalancedFocalLoss`.
        **kwargs: The arguments of `NegativeTolerantLoss`.
    """

    def __init__(
        self,
        alpha: float = 0.1,
        beta: float = 10.0,
        mu: Union[float, str] = 0.9,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.weighting = Rebalancing(alpha, beta, mu, self.counts.awaited_namespace())


@MultiLabelLoss.register("self_paced_correction")
class SelfPacedCorrectionLoss(CountedLoss):
    """SPLC: after a warm-up, probable negatives are treated as positives.

    Known positives have the focal loss of their score minus a margin, as in `HillLoss`; negatives have
    the plain focal loss. After the warm-up, a negative with a probability above `threshold` is assumed
    to be a missing label: it has the focal loss of a positive, without the margin (Zhang et al. 2021,
    "Simple and robust loss design for multi-label learning with missing labels", section 4). Evaluation
    neither counts items nor corrects labels, so losses on development data can be compared between
    epochs.

    Args:
        threshold: Negatives that are more probable are treated as positives.
        margin: Subtracted from the scores of known positives.
        warm_up_epochs: How many passes over the training items come before negatives are corrected.
            Items without a known label do not count.
        **kwargs: The arguments of `CountedLoss`.

    Attributes:
        num_seen: () int64, how many items all workers have seen in training; saved with the model, so
            that a resumed run continues the count.
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
            is_distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
            # Workers have batches of about the same size.
            num_workers = torch.distributed.get_world_size() if is_distributed else 1
            self.num_seen += num_workers * known.any(-1).sum()
        return losses

    def terms(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        shifted = torch.where(positives, scores - self.margin, scores)
        if self.training:
            # A tensor, to avoid a sync with a GPU.
            is_warm = self.num_seen >= self.warm_up_epochs * self.counts.num_items
            positives = positives | (is_warm & (torch.sigmoid(scores) > self.threshold))
        return focal_terms(shifted, positives, self.gamma)
