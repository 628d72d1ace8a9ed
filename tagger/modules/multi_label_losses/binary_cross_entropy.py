"""Binary cross-entropy."""

import math
from typing import Dict, List, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.data.label_counts import LabelCounts
from tagger.did_you_mean import did_you_mean
from tagger.modules.multi_label_losses.formulas import focal_terms
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss
from tagger.modules.weight_rules import WeightRule
from tagger.vocabulary import tags_in_order


@MultiLabelLoss.register("binary_cross_entropy")
class BinaryCrossEntropyLoss(MultiLabelLoss):
    """`-w log p` for positives and `-log (1 - p)` for negatives, each label by itself.

    The weights `w` are a buffer, saved with the model; 1 unless they are given.

    Args:
        positive_weights: a weight by label for positives; labels that are not named weigh 1.
        weight_rule: derives each label's weight from its `n` positives and `N - n` negatives in
            training, as the weight of the one class over that of the other: under `balanced` it is
            `(N - n) / n`, and both sum to the same. The trainer needs the callback `training_counts`.
        vocab: holds the labels; supplied by the model in a config, needed for either of the two above.
        label_namespace: the vocabulary's namespace of the labels.

    Raises:
        ConfigurationError: if both weights and a rule are given, the vocabulary is missing, or a weight
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
        self._label_namespace = label_namespace
        self._labels: List[str] = []
        weights = torch.ones(())
        if positive_weights is not None or weight_rule is not None:
            if vocab is None:
                raise ConfigurationError(
                    "`positive_weights` and `weight_rule` need `vocab` to look labels up"
                )
            self._labels = tags_in_order(vocab, label_namespace)
            weights = torch.full((len(self._labels),), torch.nan)
        if positive_weights is not None:
            _check_weights(positive_weights, self._labels)
            weights = torch.tensor([positive_weights.get(name, 1.0) for name in self._labels])
        self.register_buffer("positive_weights", weights)
        self._has_weights = False

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Sets the weights by the rule, if there is one."""
        if self._weight_rule is None:
            return
        of_labels = counts.get(self._label_namespace, {})
        num_items = counts.num_items.get(self._label_namespace, 0)
        for k, label in enumerate(self._labels):
            num_positives = of_labels.get(label, 0)
            negative, positive = self._weight_rule([num_items - num_positives, num_positives])
            # In place: `DistributedDataParallel` holds on to the buffers that it has met.
            self.positive_weights[k] = positive / negative

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        # Looked at until known, and then no more: on a GPU each look waits for the device.
        self._has_weights = self._has_weights or not bool(self.positive_weights.isnan().any())
        if not self._has_weights:
            raise RuntimeError(
                "`weight_rule` has not seen the training counts; add `callbacks: ['training_counts']` "
                "to the `trainer` in the config, or load trained weights"
            )
        terms = focal_terms(scores, positives, gamma=0)
        return torch.where(positives, self.positive_weights * terms, terms)


def _check_weights(weights: Dict[str, float], labels: List[str]) -> None:
    for name, weight in weights.items():
        if name not in labels:
            raise ConfigurationError(
                f"`positive_weights` names `{name}`, which is no label of this vocabulary "
                f"({', '.join(labels)})" + did_you_mean(name, labels)
            )
        if not (math.isfinite(weight) and weight > 0):
            raise ConfigurationError(
                f"`positive_weights` gives `{name}` the weight {weight!r}; expected a positive finite "
                f"number, 1 to leave the label as it is"
            )
