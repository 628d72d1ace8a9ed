"""The embedder of sequences of numbers."""

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.token_embedders import TokenEmbedder

from tagger.common.training_counts import LabelCounts


@TokenEmbedder.register("numbers")
class NumbersEmbedder(TokenEmbedder):
    """Standardises numbers and passes them on; a missing number becomes the mean, 0.

    The mean and the standard deviation of each column are those of the training data. They are buffers,
    so archives keep them. The trainer supplies them when training starts; weights that are loaded
    before, for fine-tuning, keep theirs.

    Args:
        size: How many numbers a step has, D.
    """

    means: torch.Tensor
    scales: torch.Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self._are_known = False
        for name in ("means", "scales"):
            self.register_buffer(name, torch.full((size,), torch.nan))

    def get_output_dim(self) -> int:
        return len(self.means)

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Stores the means and scales, unless loaded weights have some."""
        numbers = np.concatenate(counts.numbers or [np.empty((0, 0))])
        if numbers.shape[1] != len(self.means):
            raise ConfigurationError(
                f"the embedder `numbers` has `size` {len(self.means)}, but the training data have "
                f"{numbers.shape[1]} numbers a step; set `size` to the number of `number_columns`"
            )
        if bool(self.means.isnan().any()):
            for column, each in enumerate(numbers.T.astype(np.float64)):
                known = each[~np.isnan(each)]
                self.means[column] = known.mean() if len(known) else 0
                # A column with one value carries nothing; it becomes 0.
                self.scales[column] = (known.std() if len(known) else 0) or 1

    def forward(self, numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns standardised numbers, (B, T, D), of `numbers`, (B, T, D); NaN becomes 0."""
        # Remember a positive answer: on a GPU, each check forces a sync.
        self._are_known = self._are_known or not bool(self.means.isnan().any())
        if not self._are_known:
            raise RuntimeError(
                "the means of the training data are unknown, which `allennlp train` finds; in your own "
                "training loop call `tagger.training.supply_training_counts(model, data_loader)`, or "
                "load trained weights"
            )
        standardised = (numbers - self.means) / self.scales
        return torch.where(standardised.isnan(), torch.zeros_like(standardised), standardised)
