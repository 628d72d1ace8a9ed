"""Weights of the tags: given one by one, by label, or by a rule over the training counts."""

import logging
import math
from typing import Dict, List, Mapping, Optional, Sequence

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.did_you_mean import did_you_mean
from tagger.label_encoding import labels_of_tags
from tagger.modules.weight_rules import WeightRule, format_weights
from tagger.vocabulary import tags_in_order

logger = logging.getLogger(__name__)


class TagWeights(torch.nn.Module):
    """One weight for each tag, for whatever weights tags in training.

    The weights are a buffer, `tag_weights` (K,), saved with the model. Give them in one of three ways.
    By a rule in a config, they are NaN until the trainer's callback `training_counts` has counted the
    training data, or trained weights are loaded. Where none are given, and none have to be, the buffer
    is `None`.

    If a subclass has arguments of its own, it hands `**kwargs` on to this constructor, so that a config
    may name both.

    Args:
        tag_weights: one positive weight per tag index.
        label_weights: weights by label (`PER: 2.0` covers `B-PER`, `I-PER`, ...) or by tag
            (`B-PER: 2.0`, which wins over its label); what is not named weighs 1. Needs `vocab`.
        weight_rule: derives each tag's weight from how often training shows it. Needs `vocab`, or
            `tag_counts`.
        tag_counts: the count of each tag index for `weight_rule`, where no trainer shall supply it.
        vocab: the vocabulary that holds the tags; supplied by the model in a config.
        label_namespace: the vocabulary's namespace of the tags.

    Raises:
        ConfigurationError: if a weight is not a positive finite number, a name is no label of the
            vocabulary, more than one of `tag_weights`, `label_weights` and `weight_rule` is given (or
            none, where one is required), or what goes with it is missing.
    """

    tag_weights: Optional[torch.Tensor]

    #: Whether one of the three ways has to be chosen.
    _weights_are_required = True

    def __init__(
        self,
        tag_weights: Optional[List[float]] = None,
        label_weights: Optional[Dict[str, float]] = None,
        weight_rule: Optional[WeightRule] = None,
        tag_counts: Optional[List[int]] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        num_sources = 3 - [tag_weights, label_weights, weight_rule].count(None)
        if num_sources > 1 or (num_sources == 0 and self._weights_are_required):
            number = "exactly" if self._weights_are_required else "at most"
            raise ConfigurationError(
                f"weights need {number} one of `tag_weights`, one weight per tag index, "
                f"`label_weights`, a mapping from labels or tags to weights, and `weight_rule`, a rule "
                f"over the training counts; got {num_sources} of them"
            )
        if tag_counts is not None and weight_rule is None:
            raise ConfigurationError("`tag_counts` need a `weight_rule` to use them; give one")
        # Known where names are to be looked up: labels that weights name, or tags that are counted.
        self._tags: List[str] = []
        if label_weights is not None or (weight_rule is not None and tag_counts is None):
            if vocab is None:
                raise ConfigurationError(
                    "`label_weights` and `weight_rule` need a vocabulary to look tags up; pass `vocab`, "
                    "or give `tag_weights` or `tag_counts`, one per tag index"
                )
            self._tags = tags_in_order(vocab, label_namespace)
        self._label_namespace = label_namespace
        self._weight_rule = weight_rule
        self._has_weights = False
        if label_weights is not None:
            tag_weights = tag_weights_from_labels(label_weights, self._tags)
        elif weight_rule is not None and tag_counts is not None:
            tag_weights = weight_rule(tag_counts)
        num_tags = len(self._tags if tag_weights is None else tag_weights)
        not_yet_known = torch.full((num_tags,), torch.nan) if num_sources else None
        self.register_buffer("tag_weights", not_yet_known)
        if tag_weights is not None:
            self._set_weights(tag_weights)

    def use_training_counts(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Sets the weights by the rule, if that still waits for counts.

        Args:
            counts: how often training shows each tag, by namespace and tag.

        Raises:
            ValueError: if training shows none of the tags.
        """
        if self._weight_rule is None or not self._tags:
            return
        of_tags = counts.get(self._label_namespace, {})
        tag_counts = [of_tags.get(tag, 0) for tag in self._tags]
        weights = self._weight_rule(tag_counts)
        self._set_weights(weights)
        table = format_weights(self._tags, tag_counts, weights)
        logger.info("weights of the tags by their training counts:\n%s", table)

    def check_weights(self) -> None:
        """Raises a `RuntimeError` that says what to do if the weights are not known yet."""
        if self.tag_weights is None:
            return
        # Looked at until known, and then no more: on a GPU each look waits for the device.
        self._has_weights = self._has_weights or not bool(self.tag_weights.isnan().any())
        if not self._has_weights:
            raise RuntimeError(
                "`weight_rule` has not seen the training counts; add `callbacks: ['training_counts']` "
                "to the `trainer` in the config, or load trained weights"
            )

    def token_weights(self, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The weight of each token's gold tag, of a set of tags the mean of theirs.

        Args:
            tags: (B, T) int64, the gold tags, -1 where unknown; or (B, T, K) bool, the set of tags that
                each token may have.
            mask: (B, T) bool.

        Returns:
            (B, T), undefined in the padding; 1 everywhere if there are no weights.
        """
        if self.tag_weights is None:
            return torch.ones(mask.shape, device=mask.device)
        if tags.dim() == 3:
            return (tags * self.tag_weights).sum(2) / tags.sum(2).clamp(min=1)
        is_known = mask & (tags >= 0)
        weights = self.tag_weights[torch.where(is_known, tags, torch.zeros_like(tags))]
        return torch.where(is_known, weights, self.tag_weights.mean())

    def _set_weights(self, weights: Sequence[float]) -> None:
        for k, weight in enumerate(weights):
            _check_weight("tag_weights", str(k), weight)
        assert self.tag_weights is not None
        # In place: `DistributedDataParallel` holds on to the buffers that it has met.
        self.tag_weights.copy_(torch.tensor(weights))


def tag_weights_from_labels(label_weights: Dict[str, float], tags: Sequence[str]) -> List[float]:
    """Spreads weights named by label or by tag over all tags.

    Where tags spell no spans, each is its own label.

    Args:
        label_weights: a positive weight for each named label or tag.
        tags: all tags, in the order of their indices.

    Returns:
        One weight per tag: its own, else its label's, else 1.

    Raises:
        ConfigurationError: if a name is neither a label nor a tag, or a weight is not positive.

    Example:
        >>> tag_weights_from_labels({"PER": 2.0, "B-LOC": 3.0}, ["O", "B-PER", "I-PER", "B-LOC"])
        [1.0, 2.0, 2.0, 3.0]
    """
    labels = dict(zip(tags, labels_of_tags(tags)))
    known_labels = list(dict.fromkeys(label for label in labels.values() if label is not None))
    known = [*known_labels, *tags]
    for name, weight in label_weights.items():
        if name not in known:
            raise ConfigurationError(
                f"`label_weights` names `{name}`, which is no label of this vocabulary "
                f"({', '.join(known_labels)}) and no tag of it ({', '.join(tags)})"
                + did_you_mean(name, known)
            )
        _check_weight("label_weights", name, weight)
    return [
        float(label_weights.get(tag, label_weights.get(labels[tag] or tag, 1.0))) for tag in tags
    ]


def _check_weight(argument: str, name: str, weight: float) -> None:
    if not (isinstance(weight, (int, float)) and math.isfinite(weight) and weight > 0):
        raise ConfigurationError(
            f"`{argument}` gives `{name}` the weight {weight!r}; a weight must be a positive finite "
            f"number, and 1 leaves a label as it is"
        )
