"""What all losses over several labels share."""

from typing import Optional

import torch

from tagger.common.from_allennlp import Registrable


class MultiLabelLoss(torch.nn.Module, Registrable):
    """The loss of items, tokens or whole texts, that may have several labels or none.

    A loss implements `label_losses`.
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

        Raises:
            ValueError: If the shapes do not fit.
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

        Returns:
            (..., C), at least 0.
        """
        raise NotImplementedError
