"""What all losses of tokens that have one tag each share."""

import torch
from allennlp.common import Registrable

from tagger.modules.tag_weights import TagWeights


class TokenLoss(TagWeights, Registrable):
    """Scores tokens one by one, each against its gold tag.

    The arguments are those of `TagWeights`; weights are optional. A token's loss is multiplied by the
    weight of its gold tag: raising a label's weight raises its recall and lowers its precision. A loss
    implements `token_losses`.
    """

    default_implementation = "cross_entropy"
    _weights_are_required = False

    def forward(self, scores: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The weighted loss of each token.

        Args:
            scores: (B, T, K), of each tag at each token, in nats. -inf makes a tag impossible; one tag
                of each token has to be possible. Half precision is computed in float32.
            tags: (B, T) int64, the gold tags, -1 where unknown.
            mask: (B, T) bool.

        Returns:
            (B, T), 0 in the padding and where the tag is unknown: what lies there, NaN included, changes
            nothing and gets no gradient. `mean_over_known` takes the mean.

        Raises:
            ValueError: if shapes do not fit, or a tag is out of range.
            RuntimeError: if weights or priors wait for the training counts.
        """
        self.check_weights()
        is_counted = self._is_counted(scores, tags, mask)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        losses = self.token_losses(
            torch.where(is_counted.unsqueeze(2), scores, torch.zeros_like(scores)),
            torch.where(is_counted, tags, torch.zeros_like(tags)),
        )
        losses = losses * self.token_weights(tags, is_counted)
        return torch.where(is_counted, losses, torch.zeros_like(losses))

    def token_losses(self, scores: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        """The loss of each token, not weighted yet.

        Args:
            scores: (B, T, K), at least float32.
            tags: (B, T) int64, in [0, K).

        Returns:
            (B, T), differentiable.
        """
        raise NotImplementedError

    def _is_counted(
        self, scores: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """(B, T) bool: the tokens whose tag is known."""
        if scores.dim() != 3 or tags.shape != scores.shape[:2] or mask.shape != tags.shape:
            raise ValueError(
                f"`scores` must be (B, T, K), `tags` and `mask` (B, T); got {tuple(scores.shape)}, "
                f"{tuple(tags.shape)} and {tuple(mask.shape)}; sets of tags are for the `crf` head"
            )
        num_tags = scores.size(2)
        if self.tag_weights is not None and len(self.tag_weights) != num_tags:
            raise ValueError(
                f"`scores` must be of as many tags as there are weights, {len(self.tag_weights)}; got "
                f"{num_tags}"
            )
        is_outside = mask & ((tags < -1) | (tags >= num_tags))
        for row, token in is_outside.nonzero().tolist():
            raise ValueError(
                f"`tags` must lie in 0 to {num_tags - 1}, or be -1 where unknown; row {row} has "
                f"{int(tags[row, token])} at token {token}"
            )
        return mask & (tags >= 0)
