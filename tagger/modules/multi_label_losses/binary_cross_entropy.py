"""Binary cross-entropy."""

from typing import Dict, List, Optional

import torch

from tagger.common.did_you_mean import did_you_mean
from tagger.common.from_allennlp import ConfigurationError, Vocabulary
from tagger.common.vocabulary import tags_in_order
from tagger.modules.class_weights import check_weight
from tagger.modules.multi_label_losses.formulas import focal_terms
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss
from tagger.modules.weight_rules import WeightRule
from tagger.training_counts import AwaitedCounts, LabelCounts


@MultiLabelLoss.register("binary_cross_entropy")
class BinaryCrossEntropyLoss(MultiLabelLoss):
    """`-w log p` for positives and `-log (1 - p)` for negatives, each label by itself.

    The weights `w` are a buffer, saved with the model; 1 unless they are given.

    Args:
        positive_weights: A weight by label for positives; labels that are not named weigh 1.
        weight_rule: Derives each label's weight from its `n` positives and `N - n` negatives in
            training, as the positives' weight over the negatives'. Under `balanced` it is
            `(N - n) / n`, which gives both the same total. The trainer needs the callback
            `training_counts`.
        vocab: Holds the labels; the model in a config supplies it. Either of the two above needs it.
        label_namespace: The vocabulary's namespace of the labels.

    Raises:
        ConfigurationError: If both weights and a rule are given, the vocabulary is missing, or a weight
            is not a positive finite number or names no label.
    """

    positive_weights: torch.Tensor

    def __init__(
        self,
        positive_weights: Optional[Dict[str, float]] = None,
        weight_rule: Optional[WeightRule] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        if positive_weights is not None and weight_rule is not None:
            raise ConfigurationError("give `positive_weights` or a `weight_rule`, not both")
        self._weight_rule = weight_rule
        self._awaited: Optional[AwaitedCounts] = None
        weights = torch.ones(())
        if positive_weights is not None:
            labels = tags_in_order(_required(vocab), label_namespace)
            _check_weights(positive_weights, labels)
            weights = torch.tensor([positive_weights.get(name, 1.0) for name in labels])
        elif weight_rule is not None:
            self._awaited = AwaitedCounts(_required(vocab), label_namespace)
            weights = torch.full((len(self._awaited.labels),), torch.nan)
        self.register_buffer("positive_weights", weights)

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Sets the weights by the rule, if there is one.

        Raises:
            ValueError: If training shows none of the labels.
        """
        if self._awaited is None:
            return
        assert self._weight_rule is not None
        num_items = self._awaited.num_items(counts)
        for k, num_positives in enumerate(self._awaited.look_up(counts)):
            negative, positive = self._weight_rule([num_items - num_positives, num_positives])
            # In place: `DistributedDataParallel` keeps the buffers that it has seen.
            self.positive_weights[k] = positive / negative

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        if self._awaited is not None:
            self._awaited.check_have_come(self.positive_weights)
        terms = focal_terms(scores, positives, gamma=0)
        return torch.where(positives, self.positive_weights * terms, terms)


def _required(vocab: Optional[Vocabulary]) -> Vocabulary:
    if vocab is None:
        raise ConfigurationError(
            "`positive_weights` and `weight_rule` need `vocab` to look labels up"
        )
    return vocab


def _check_weights(weights: Dict[str, float], labels: List[str]) -> None:
    for name, weight in weights.items():
        if name not in labels:
            raise ConfigurationError(
                f"`positive_weights` names `{name}`, which is no label of this vocabulary "
                f"({', '.join(labels)})" + did_you_mean(name, labels)
            )
        check_weight("positive_weights", name, weight)
