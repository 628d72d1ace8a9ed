"""Losses for tokens that have one tag each."""

from typing import Any, List, Optional

import torch

from tagger.common.from_allennlp import ConfigurationError, Registrable, Vocabulary
from tagger.common.ranges import check_number
from tagger.common.training_counts import CountedLabels
from tagger.linear_chain.checks import checked_gold_tags
from tagger.modules.class_weights import ClassWeights
from tagger.modules.loss_formulas import (
    are_known,
    check_gamma,
    focal_log_probabilities,
    gold_log_probabilities,
    merge_tags,
)
from tagger.modules.weight_rules import EffectiveNumberWeightRule


class TokenLoss(ClassWeights, Registrable):
    """Compares the scores of each token with its gold tag.

    It takes the arguments of `ClassWeights`; weights are optional. A token's loss is multiplied by the
    weight of its gold tag: raising a label's weight raises its recall and lowers its precision.
    Arguments out of range raise a `ConfigurationError`. Subclasses implement `token_losses`.
    """

    default_implementation = "cross_entropy"
    _weights_are_required = False

    def forward(
        self,
        scores: torch.Tensor,
        gold_tags: torch.Tensor,
        mask: torch.Tensor,
        sentence_weights: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """The loss of each token, with the class weights.

        Args:
            scores: (B, T, K), the score of each tag at each token, in nats. -inf makes a tag
                impossible; at least one tag of each token must be possible. Half precision is computed
                in float32.
            gold_tags: (B, T) int64, -1 where unknown; or (B, T, K) bool, the set of tags that each
                token may have.
            mask: (B, T) bool.
            sentence_weights: (B,), how often each sentence counts for the others, where the loss of a
                token depends on the batch. The losses are not multiplied by them.

        Returns:
            (B, T), 0 in the padding and where the gold tag is unknown. The scores of these tokens, even
            NaN, change nothing and get no gradient. The tags of a set count as one tag, which has the
            sum of their probabilities and the mean of their weights.

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
        numbers = None
        if sentence_weights is not None:
            numbers = sentence_weights.unsqueeze(1).expand(mask.shape)[has_gold_tag]
        losses = self.token_losses(known_scores, known_tags, numbers)
        # (B, T)
        losses = scores.new_zeros(mask.shape).masked_scatter(has_gold_tag, losses)
        return losses * self.token_weights(gold_tags, has_gold_tag)

    def adjusted(self, scores: torch.Tensor) -> torch.Tensor:
        """The scores that the loss sees, (N, K); by default unchanged."""
        return scores

    def token_losses(
        self, scores: torch.Tensor, gold_tags: torch.Tensor, numbers: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """The loss of each token that has a gold tag, (N,), without its weight.

        `scores` are (N, K), at least float32; `gold_tags`, (N,) int64, lie in [0, K); `numbers`, (N,),
        say how often each token counts in the batch, once if None.
        """
        raise NotImplementedError

    def _has_gold_tag(
        self, scores: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """(B, T) bool: the tokens with a known gold tag."""
        if scores.dim() != 3 or mask.shape != scores.shape[:2]:
            raise ValueError(
                f"`scores` must be (B, T, K) and `mask` (B, T); got {tuple(scores.shape)} and "
                f"{tuple(mask.shape)}"
            )
        num_tags = scores.size(2)
        if self.tag_weights is not None and len(self.tag_weights) != num_tags:
            raise ValueError(
                f"`scores` must be of as many tags as there are weights, {len(self.tag_weights)}; got "
                f"{num_tags}"
            )
        checked_gold_tags(gold_tags, mask, scores)
        return mask & are_known(gold_tags)


@TokenLoss.register("cross_entropy")
class CrossEntropyLoss(TokenLoss):
    """`-c[y] log p_y`, the negative log-likelihood of each gold tag.

    Args:
        label_smoothing: The share of the target that is spread over all possible tags, from 0 to below
            1 (Szegedy et al. 2016, "Rethinking the Inception architecture for computer vision", section
            7, who have no impossible tags). Unlike in PyTorch's loss, the weight of the gold tag
            multiplies this part too.
        **kwargs: The arguments of `ClassWeights`.
    """

    def __init__(self, label_smoothing: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        is_valid = 0 <= label_smoothing < 1
        check_number("label_smoothing", label_smoothing, is_valid, "at least 0 and below 1")
        self.label_smoothing = label_smoothing

    def token_losses(
        self, scores: torch.Tensor, gold_tags: torch.Tensor, numbers: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        of_gold = -gold_log_probabilities(scores, gold_tags)
        if not self.label_smoothing:
            return of_gold
        log_probabilities = scores.log_softmax(-1)
        is_possible = log_probabilities > -torch.inf
        of_all = -log_probabilities.masked_fill(~is_possible, 0).sum(-1)
        smoothing = self.label_smoothing
        return (1 - smoothing) * of_gold + smoothing * of_all / is_possible.sum(-1)


@TokenLoss.register("focal")
class FocalLoss(TokenLoss):
    """`-c[y] (1 - p_y)^gamma log p_y`: tokens that the model has learnt lose weight.

    After Lin et al. 2017, "Focal loss for dense object detection", equation 5, with a softmax instead
    of a sigmoid; their alpha is the class weight. With `gamma` 0 it is cross-entropy.

    Args:
        gamma: At least 0.
        **kwargs: The arguments of `ClassWeights`.
    """

    def __init__(self, gamma: float = 2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        self.gamma = gamma

    def token_losses(
        self, scores: torch.Tensor, gold_tags: torch.Tensor, numbers: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        return -focal_log_probabilities(gold_log_probabilities(scores, gold_tags), self.gamma)


@TokenLoss.register("class_balanced")
class ClassBalancedLoss(FocalLoss):
    """Cross-entropy or focal loss with `c[k]` proportional to `(1 - beta) / (1 - beta**n_k)`.

    After Cui et al. 2019, "Class-balanced loss based on effective number of samples". It is short for
    `weight_rule: {type: 'effective_number', beta: beta}`; see there how weights are scaled.

    Args:
        beta: Above 0 and below 1. Tags counted far more than `1 / (1 - beta)` times weigh the same.
        gamma: At least 0; 0 for cross-entropy.
        tag_counts: `n_k`, the count of each tag index, if no trainer supplies it.
        vocab: Holds the tags; the model in a config supplies it.
        label_namespace: The vocabulary's namespace of the tags.
    """

    def __init__(
        self,
        beta: float = 0.999,
        gamma: float = 0.0,
        tag_counts: Optional[List[int]] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__(
            gamma,
            weight_rule=EffectiveNumberWeightRule(beta),
            tag_counts=tag_counts,
            vocab=vocab,
            label_namespace=label_namespace,
        )


@TokenLoss.register("dice")
class DiceLoss(TokenLoss):
    """One minus the Dice coefficient of each tag, a soft F1 over the batch, summed over tags.

    The coefficient of tag k is `(2 sum q_k [k = y] + s) / (sum q_k^2 + sum [k = y] + s)`. The sums run
    over all tokens of the batch, each tag against the rest, and `s` is the smoothing (Milletari et al.
    2016, "V-Net", section 3; Li et al. 2020, "Dice loss for data-imbalanced NLP tasks", section 3.3).
    `q_k = (1 - p_k)^alpha p_k` has the self-adjusting factor of Li et al., section 3.4. Every tag counts
    the same, however rare it is.

    A token's loss is its share of the sum, `sum_k (q_k - [k = y])^2 / (sum q_k^2 + sum [k = y] + s)`,
    times the number of tokens, so that the mean over tokens is the sum. It depends on the batch: use
    batches that contain most tags. The weight of the gold tag multiplies the whole share, false
    positives of other tags included.

    With `of_each_token`, the sums run over one token, as in the self-adjusting loss of Li et al. Then
    every token counts the same, so on data that are mostly `O`, a softmax learns to prefer `O` first,
    and learns entities late or never: the slope of an entity's coefficient is proportional to the
    probability of its tag.

    Args:
        alpha: At least 0; 0 leaves the self-adjusting factor out. Keep it small: beyond
            `p = 1 / (1 + alpha)`, `q` falls again, and the loss punishes certainty.
        smoothing: Above 0. The larger it is, the less rare tags count, down to the squared error of
            each token by itself. The smaller it is, the more a false positive costs if the batch lacks
            its tag. With many tags or small batches, use about 10.
        of_each_token: Whether each token has its own coefficients.
        **kwargs: The arguments of `ClassWeights`.
    """

    def __init__(
        self,
        alpha: float = 0.0,
        smoothing: float = 1.0,
        of_each_token: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_number("alpha", alpha, alpha >= 0, "a finite number of at least 0")
        check_number("smoothing", smoothing, smoothing > 0, "a finite number above 0")
        self.alpha = alpha
        self.smoothing = smoothing
        self.of_each_token = of_each_token

    def token_losses(
        self, scores: torch.Tensor, gold_tags: torch.Tensor, numbers: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        # (N, K)
        p = scores.softmax(-1)
        # At p = 1 the slope of a power below 1 is infinite.
        q = _sum_of_others(p).clamp(min=torch.finfo(p.dtype).tiny) ** self.alpha * p
        is_gold = torch.nn.functional.one_hot(gold_tags, scores.size(-1)).to(q.dtype)
        errors = (q - is_gold) ** 2
        if self.of_each_token:
            return (errors / (self.smoothing + q**2 + is_gold)).sum(-1)
        if numbers is None:
            numbers = scores.new_ones(len(scores))
        # Divided by (K,), the sizes over the batch.
        sizes = self.smoothing + (numbers.unsqueeze(1) * (q**2 + is_gold)).sum(0)
        return numbers.sum() * (errors / sizes).sum(-1)


@TokenLoss.register("logit_adjusted")
class LogitAdjustedLoss(TokenLoss):
    """Cross-entropy of `scores + tau log prior`: frequent tags must win by a margin.

    After Menon et al. 2021, "Long-tail learning via logit adjustment", equation 10. The priors are the
    shares of the tags in the training data; a tag that does not occur there counts as if it occurred
    once. Decoding uses the scores without the priors, so with `tau` 1 it treats all tags as if they
    were equally frequent.

    Args:
        tau: How much the priors count, at least 0; 0 for cross-entropy.
        tag_counts: The count of each tag index, if no trainer supplies it.
        vocab: Holds the tags; the model in a config supplies it.
        label_namespace: The vocabulary's namespace of the tags.
    """

    def __init__(
        self,
        tau: float = 1.0,
        tag_counts: Optional[List[int]] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        check_number("tau", tau, tau >= 0, "a finite number of at least 0")
        if tag_counts is None and vocab is None:
            raise ConfigurationError(
                "priors need a vocabulary to look tags up; pass `vocab`, or give `tag_counts`, one per "
                "tag index"
            )
        num_tokens = None if tag_counts is None else sum(tag_counts)
        self.tau = tau
        self.counted_tags = CountedLabels(tag_counts, num_tokens, vocab, label_namespace)

    def adjusted(self, scores: torch.Tensor) -> torch.Tensor:
        self.counted_tags.check_known()
        tag_counts = self.counted_tags.label_counts
        if len(tag_counts) != scores.size(-1):
            raise ValueError(
                f"`scores` must be of as many tags as there are counts, {len(tag_counts)}; got "
                f"{scores.size(-1)}"
            )
        # Not divided by their sum: a constant added to all scores changes nothing.
        priors = tag_counts.clamp(min=1).to(scores.dtype)
        return scores + self.tau * priors.log()

    def token_losses(
        self, scores: torch.Tensor, gold_tags: torch.Tensor, numbers: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        return -gold_log_probabilities(scores, gold_tags)


def _sum_of_others(p: torch.Tensor) -> torch.Tensor:
    """`1 - p`, (N, K); a subtraction would leave no digits where a tag is certain."""
    # (N, K + 1), from 0 to the sum of all
    up_to = torch.nn.functional.pad(p, (1, 0)).cumsum(-1)
    from_on = torch.nn.functional.pad(p.flip(-1), (1, 0)).cumsum(-1).flip(-1)
    return up_to[:, :-1] + from_on[:, 1:]
