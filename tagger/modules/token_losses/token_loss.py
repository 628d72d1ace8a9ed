"""What all losses of tokens with one tag each share."""

import torch

from tagger.common.from_allennlp import Registrable
from tagger.modules.class_weights import ClassWeights
from tagger.modules.token_losses.functions import merge_tags


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
            gold_tags: (B, T) int64, -1 where unknown; or (B, T, K) bool, the set of tags that each
                token may have.
            mask: (B, T) bool.

        Returns:
            (B, T), 0 in the padding and where the gold tag is unknown. The scores of these tokens, even
            NaN, change nothing and get no gradient. `mean_over_known` takes the mean. The tags of a set
            count as one tag, which has the sum of their probabilities and the mean of their weights.

        Raises:
            ValueError: If shapes do not fit, or a gold tag is out of range.
            RuntimeError: If weights or priors wait for the training counts.
        """
        self.check_weights()
        has_gold_tag = self._has_gold_tag(scores, gold_tags, mask)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        # (N, K) and (N,), or (N, K) for sets
        known_scores, known_tags = self.adjusted(scores[has_gold_tag]), gold_tags[has_gold_tag]
        if known_tags.dim() == 2:
            known_scores, known_tags = merge_tags(known_scores, known_tags)
        losses = self.token_losses(known_scores, known_tags)
        # (B, T)
        losses = scores.new_zeros(mask.shape).masked_scatter(has_gold_tag, losses)
        return losses * self.token_weights(gold_tags, has_gold_tag)

    def adjusted(self, scores: torch.Tensor) -> torch.Tensor:
        """The scores that the loss sees, (N, K); by default those that it is given."""
        return scores

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
        are_sets = gold_tags.dtype == torch.bool
        if (
            scores.dim() != 3
            or gold_tags.shape != (scores.shape if are_sets else scores.shape[:2])
            or mask.shape != scores.shape[:2]
        ):
            raise ValueError(
                "`scores` must be (B, T, K), `gold_tags` (B, T), or bool and (B, T, K), and `mask` "
                f"(B, T); got {tuple(scores.shape)}, {gold_tags.dtype} of shape "
                f"{tuple(gold_tags.shape)}, and {tuple(mask.shape)}"
            )
        num_tags = scores.size(2)
        if self.tag_weights is not None and len(self.tag_weights) != num_tags:
            raise ValueError(
                f"`scores` must be of as many tags as there are weights, {len(self.tag_weights)}; got "
                f"{num_tags}"
            )
        if are_sets:
            for row, token in (mask & ~gold_tags.any(2)).nonzero().tolist():
                raise ValueError(
                    f"`gold_tags` must allow each token at least one tag; row {row} allows token "
                    f"{token} none"
                )
            # All tags are possible where the gold tag is unknown.
            return mask & ~gold_tags.all(2)
        is_outside = mask & ((gold_tags < -1) | (gold_tags >= num_tags))
        for row, token in is_outside.nonzero().tolist():
            raise ValueError(
                f"`gold_tags` must lie in 0 to {num_tags - 1}, or be -1 where unknown; row {row} has "
                f"{int(gold_tags[row, token])} at token {token}"
            )
        return mask & (gold_tags >= 0)
