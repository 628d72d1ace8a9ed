"""Our CRF with the signatures of pytorch-crf, whose own tests import it under this name."""

import torch

from tagger.modules import ConditionalRandomField


class CRF(ConditionalRandomField):
    def __init__(self, num_tags, batch_first=False):
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__(num_tags)
        self.batch_first = batch_first

    def __repr__(self):
        return f"CRF(num_tags={self.num_tags})"

    def _batch_first(self, tensor):
        is_first = self.batch_first or tensor is None or tensor.dim() < 2
        return tensor if is_first else tensor.transpose(0, 1)

    def forward(self, emissions, tags, mask=None, reduction="sum"):
        if reduction not in ("none", "sum", "mean", "token_mean"):
            raise ValueError(f"invalid reduction: {reduction}")
        mask = torch.ones_like(tags) if mask is None else mask
        emissions, tags, mask = map(self._batch_first, (emissions, tags, mask.bool()))
        each = self.log_likelihood(emissions, tags, mask)
        if reduction == "token_mean":
            return each.sum() / mask.sum()
        return each if reduction == "none" else getattr(each, reduction)()

    def decode(self, emissions, mask=None):
        mask = None if mask is None else self._batch_first(mask.bool())
        return [path for path, _ in self.viterbi_tags(self._batch_first(emissions), mask)]
