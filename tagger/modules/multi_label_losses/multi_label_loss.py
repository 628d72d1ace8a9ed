"""What all losses over several labels share."""

from typing import List, Optional

import torch
from allennlp.common import Registrable
from allennlp.data import Vocabulary

from tagger.modules.counted_labels import CountedLabels


class MultiLabelLoss(torch.nn.Module, Registrable):
    """The loss of items, tokens or whole texts, that may have several labels or none.

    A loss implements `label_losses`.
    """

    default_implementation = "binary_cross_entropy"

    def forward(
        self, scores: torch.Tensor, targets: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """Sums the losses of each item's known labels.

        A sum, so that a known label counts the same whether or not others beside it are unknown. Half
        precision is computed in single.

        Args:
            scores: (..., C), log-odds of each label; finite, but for those that do not count.
            targets: (..., C), 1 where the item has the label, 0 where it has not, -1 where that is
                unknown. Of an unknown label neither loss nor gradient depend on the score.
            mask: (...) bool, which items count; all by default.

        Returns:
            (...), 0 for an item that does not count or has no known label; always with a gradient.

        Raises:
            ValueError: if the shapes do not fit.
        """
        if mask is None:
            mask = torch.ones_like(targets[..., 0], dtype=torch.bool)
        if scores.shape != targets.shape or mask.shape != scores.shape[:-1]:
            raise ValueError(
                f"`scores` and `targets` must have one shape (..., C), and `mask` the shape (...); got "
                f"{tuple(scores.shape)}, {tuple(targets.shape)} and {tuple(mask.shape)}"
            )
        # (..., C)
        known = mask.unsqueeze(-1) & (targets >= 0)
        if scores.dtype in (torch.float16, torch.bfloat16):
            scores = scores.float()
        zeros = torch.zeros_like(scores)
        # Before the losses too: a NaN there would reach the gradient through the `where` after them.
        losses = self.label_losses(torch.where(known, scores, zeros), targets > 0)
        return torch.where(known, losses, zeros).sum(-1)

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        """The loss of each label, unknown ones as if they were negatives.

        Args:
            scores: (..., C), finite, single or double precision.
            positives: (..., C) bool, whether the item is known to have the label.

        Returns:
            (..., C), at least 0.
        """
        raise NotImplementedError


class CountedMultiLabelLoss(MultiLabelLoss):
    """A loss that knows how often training shows each label.

    The counts come from the trainer's callback `training_counts`, or from the arguments, and are saved
    with the model. Computing the loss before is a `RuntimeError`.

    Args:
        label_counts: how many training items have each label, where no trainer shall supply it.
        num_items: how many training items there are, likewise.
        vocab: holds the labels; supplied by the model in a config.
        label_namespace: the vocabulary's namespace of the labels.

    Raises:
        ConfigurationError: if there is neither a vocabulary nor both numbers; see `CountedLabels`.
    """

    def __init__(
        self,
        label_counts: Optional[List[int]] = None,
        num_items: Optional[int] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        self.counts = CountedLabels(label_counts, num_items, vocab, label_namespace)

    def forward(
        self, scores: torch.Tensor, targets: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        self.counts.check_counted()
        return super().forward(scores, targets, mask)
