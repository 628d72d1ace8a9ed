"""What all losses of tokens with one tag each share."""

import torch
from allennlp.common import Registrable

from tagger.modules.class_weights import ClassWeights


class TokenLoss(ClassWeights, Registrable):
    """Compares the scores of each token with its gold tag.

    It takes the arguments of `ClassWeights`; weights are optional. A token's loss is multiplied by the
    weight of its gold tag: raising a label's weight raises its recall and lowers its precision. A loss
    implements `token_losses`.
    """

    default_implementation = "cross_entropy"
    _weights_are_required = False

    def forward(
        self, scores: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """The weighted loss of each token.

        Args:
            scores: (B, T, K), of each tag at each token, in nats. -inf makes a tag impossible; at least
                one tag of each token must be possible. Half precision is computed in float32.
            gold_tags: (B, T) int64, -1 where unknown.
            mask: (B, T) bool.

        Returns:
            (B, T), 0 in the padding and where the gold tag is unknown. The scores of these tokens, even
            NaN, change nothing and get no gradient. `mean_over_known` takes the mean.

        Raises:
            ValueError: If shapes do not fit, or a gold tag is out of range.
            RuntimeError: If weights or priors wait for the training counts.
        """
        self.check_weights()
        has_gold_tag = self._has_gold_tag(scores, gold_tags, mask)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        # (N, K) and (N,)
        losses = self.token_losses(scores[has_gold_tag], gold_tags[has_gold_tag])
        # (B, T)
        losses = scores.new_zeros(mask.shape).masked_scatter(has_gold_tag, losses)
        return losses * self.token_weights(gold_tags, has_gold_tag)

    def token_losses(self, scores: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
        """The loss of each token that has a gold tag, without its weight.

        Args:
            scores: (N, K), at least float32.
            gold_tags: (N,) int64, in [0, K).

        Returns:
            (N,), differentiable.
        """
        raise NotImplementedError

    def _has_gold_tag(
        self, scores: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """(B, T) bool: the tokens with a known gold tag."""
        if (
            scores.dim() != 3
            or gold_tags.shape != scores.shape[:2]
            or mask.shape != gold_tags.shape
        ):
            raise ValueError(
                f"`scores` must be (B, T, K), `gold_tags` and `mask` (B, T); got "
                f"{tuple(scores.shape)}, {tuple(gold_tags.shape)} and {tuple(mask.shape)}; for sets of "
                f"tags, use the `crf` head"
            )
        num_tags = scores.size(2)
        if self.tag_weights is not None and len(self.tag_weights) != num_tags:
            raise ValueError(
                f"`scores` must be of as many tags as there are weights, {len(self.tag_weights)}; got "
                f"{num_tags}"
            )
        is_outside = mask & ((gold_tags < -1) | (gold_tags >= num_tags))
        for row, token in is_outside.nonzero().tolist():
            raise ValueError(
                f"`gold_tags` must lie in 0 to {num_tags - 1}, or be -1 where unknown; row {row} has "
                f"{int(gold_tags[row, token])} at token {token}"
            )
        return mask & (gold_tags >= 0)
