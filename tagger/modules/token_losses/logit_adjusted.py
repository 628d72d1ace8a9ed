"""Logit adjustment."""

from typing import List, Optional

import torch

from tagger.common.from_allennlp import ConfigurationError, Vocabulary
from tagger.modules.check_number import check_number
from tagger.modules.token_losses.functions import cross_entropy
from tagger.modules.token_losses.token_loss import TokenLoss
from tagger.training_counts import CountedLabels


@TokenLoss.register("logit_adjusted")
class LogitAdjustedLoss(TokenLoss):
    """Cross-entropy of `scores + tau log prior`: frequent tags must win by a margin.

    After Menon et al. 2021, "Long-tail learning via logit adjustment", equation 10. The priors are the
    shares of the tags in the training data; a tag that they do not show counts as if shown once.
    Decoding uses the scores without the priors. So with `tau` 1 it prefers tags as if all were equally
    frequent.

    Args:
        tau: How much the priors count, at least 0; 0 for cross-entropy.
        tag_counts: The count of each tag index, if no trainer supplies it.
        vocab: The vocabulary that holds the tags; the model in a config supplies it.
        label_namespace: The vocabulary's namespace of the tags.

    Raises:
        ConfigurationError: If a number is out of range, or both `tag_counts` and `vocab` are missing.
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

    def token_losses(self, scores: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
        return cross_entropy(scores, gold_tags)
