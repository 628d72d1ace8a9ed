"""Logit adjustment."""

import math
from typing import List, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.modules.counted_labels import CountedLabels
from tagger.modules.token_losses.functions import cross_entropy
from tagger.modules.token_losses.token_loss import TokenLoss


@TokenLoss.register("logit_adjusted")
class LogitAdjustedLoss(TokenLoss):
    """Cross-entropy of `scores + tau log prior`: frequent tags have to win by a margin.

    After Menon et al. 2021, "Long-tail learning via logit adjustment", equation 10. Priors are the
    shares of the tags in the training data; a tag that these do not show counts as if shown once.
    Decoding sees the scores without them, and so, at `tau` 1, prefers tags as if all were equally
    frequent.

    Args:
        tau: how much the priors count, at least 0; 0 for cross-entropy.
        tag_counts: the count of each tag index, where no trainer shall supply it.
        vocab: the vocabulary that holds the tags; supplied by the model in a config.
        label_namespace: the vocabulary's namespace of the tags.

    Raises:
        ConfigurationError: if a number is out of range, or both `tag_counts` and `vocab` are missing.
    """

    def __init__(
        self,
        tau: float = 1.0,
        tag_counts: Optional[List[int]] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        if not 0 <= tau < math.inf:
            raise ConfigurationError(f"`tau` must be a finite number of at least 0; got {tau!r}")
        if tag_counts is None and vocab is None:
            raise ConfigurationError(
                "priors need a vocabulary to look tags up; pass `vocab`, or give `tag_counts`, one per "
                "tag index"
            )
        num_tokens = None if tag_counts is None else sum(tag_counts)
        self.tau = tau
        self.counted_tags = CountedLabels(tag_counts, num_tokens, vocab, label_namespace)

    def token_losses(self, scores: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        self.counted_tags.check_counted()
        tag_counts = self.counted_tags.label_counts
        if len(tag_counts) != scores.size(-1):
            raise ValueError(
                f"`scores` must be of as many tags as there are counts, {len(tag_counts)}; got "
                f"{scores.size(-1)}"
            )
        # Not divided by their sum: what all scores have in common changes nothing.
        priors = tag_counts.clamp(min=1).to(scores.dtype)
        return cross_entropy(scores + self.tau * priors.log(), tags)
