"""Class-balanced loss."""

from typing import List, Optional

from tagger.common.from_allennlp import Vocabulary
from tagger.modules.token_losses.focal import FocalLoss
from tagger.modules.token_losses.token_loss import TokenLoss
from tagger.modules.weight_rules import EffectiveNumberWeightRule


@TokenLoss.register("class_balanced")
class ClassBalancedLoss(FocalLoss):
    """Cross-entropy or focal loss with `c[k]` proportional to `(1 - beta) / (1 - beta**n_k)`.

    After Cui et al. 2019, "Class-balanced loss based on effective number of samples". It is short for
    `weight_rule: {type: 'effective_number', beta: beta}`, which says how weights are scaled.

    Args:
        beta: Above 0 and below 1. Tags counted far more than `1 / (1 - beta)` times weigh alike.
        gamma: At least 0; 0 for cross-entropy.
        tag_counts: `n_k`, the count of each tag index, if no trainer supplies it.
        vocab: The vocabulary that holds the tags; the model in a config supplies it.
        label_namespace: The vocabulary's namespace of the tags.

    Raises:
        ConfigurationError: If a number is out of range, or both `tag_counts` and `vocab` are missing.
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
