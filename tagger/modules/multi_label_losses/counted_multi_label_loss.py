"""What the losses share that need to know how frequent each label is."""

from typing import List, Optional

import torch

from tagger.common.from_allennlp import Vocabulary
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss
from tagger.training_counts import CountedLabels


class CountedMultiLabelLoss(MultiLabelLoss):
    """A loss that knows how often training shows each label.

    The counts come from the trainer's callback `training_counts` or from the arguments, and are saved
    with the model. Until they are known, computing the loss raises a `RuntimeError`.

    Args:
        label_counts: The number of training items that have each label, if no trainer supplies it.
        num_items: The number of training items, if no trainer supplies it.
        vocab: Holds the labels; the model in a config supplies it.
        label_namespace: The vocabulary's namespace of the labels.

    Raises:
        ConfigurationError: If both numbers and the vocabulary are missing, or as `CountedLabels` does.
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
        self, scores: torch.Tensor, gold_labels: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        self.counts.check_known()
        return super().forward(scores, gold_labels, mask)
