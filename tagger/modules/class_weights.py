"""Class weights: given by tag, by label, or by a rule based on the training counts."""

import logging
from typing import Dict, List, Optional, Sequence

import numpy as np
import torch

from tagger.common.did_you_mean import did_you_mean
from tagger.common.from_allennlp import ConfigurationError, Vocabulary
from tagger.common.ranges import is_number
from tagger.common.training_counts import AwaitedCounts, LabelCounts
from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain.checks import array_on_cpu, at_least_float32
from tagger.modules.weight_rules import WeightRule, format_weights
from tagger.spans import labels_of_tags

logger = logging.getLogger(__name__)


class ClassWeights(torch.nn.Module):
    """One weight for each tag, for modules that weight tags in training.

    The weights are a buffer, `tag_weights` (K,), saved with the model; None if a subclass makes them
    optional and none are given. Give `tag_weights`, `label_weights` or `weight_rule`. With a rule in a
    config, they are NaN until the trainer has counted the labels, or trained weights are loaded.

    Args:
        tag_weights: One positive weight per tag index; a tensor or a NumPy array works too.
        label_weights: Weights by label (`PER: 2.0` covers `B-PER`, `I-PER`, ...) or by tag
            (`B-PER: 2.0`, which wins over its label). Labels that are not named weigh 1. Needs `vocab`.
        weight_rule: Derives each tag's weight from its training count. Needs `vocab` or `tag_counts`.
        tag_counts: The count of each tag index for `weight_rule`, if no trainer supplies them.
        vocab: The vocabulary that holds the tags; the model in a config supplies it.
        label_namespace: The vocabulary's namespace of the tags.

    Raises:
        ConfigurationError: If a weight is not a positive finite number, a name is unknown, more than one
            of the three is given (or none, where one is required), or `vocab` is missing.
    """

    tag_weights: Optional[torch.Tensor]

    #: Whether one of the three ways must be chosen.
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
        if isinstance(tag_weights, (np.ndarray, torch.Tensor)):
            tag_weights = tag_weights.tolist()
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
        self._weight_rule = weight_rule
        self._awaited: Optional[AwaitedCounts] = None
        if label_weights is not None:
            tags = tags_in_order(_required(vocab), label_namespace)
            tag_weights = class_weights_by_label(label_weights, tags)
        elif weight_rule is not None and tag_counts is not None:
            tag_weights = weight_rule(tag_counts)
        elif weight_rule is not None:
            self._awaited = AwaitedCounts(_required(vocab), label_namespace)
        num_tags = len(tag_weights or (self._awaited.labels if self._awaited else ()))
        not_yet_known = torch.full((num_tags,), torch.nan) if num_sources else None
        self.register_buffer("tag_weights", not_yet_known)
        if tag_weights is not None:
            self._set_weights(tag_weights)

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Sets the weights by the rule, if the rule still needs counts."""
        if self._awaited is None:
            return
        assert self._weight_rule is not None
        tag_counts = self._awaited.look_up(counts)
        weights = self._weight_rule(tag_counts)
        self._set_weights(weights)
        table = format_weights(self._awaited.labels, tag_counts, weights)
        logger.info("class weights by the training counts:\n%s", table)

    def check_weights(self) -> None:
        """Raises a `RuntimeError` that says what to do unless the weights are known."""
        if self._awaited is not None:
            assert self.tag_weights is not None
            self._awaited.check_have_come(self.tag_weights)

    def token_weights(self, gold_tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The weight of each token's gold tag; for a set of tags, the mean of their weights.

        Gold tags and mask are as for `TagWeighting.objective`. The result is (B, T), at least float32,
        undefined in the padding; 1 everywhere if there are no weights.
        """
        if self.tag_weights is None:
            return torch.ones(mask.shape, device=mask.device)
        weights = at_least_float32(self.tag_weights)
        if gold_tags.dim() == 3:
            return (gold_tags * weights).sum(2) / gold_tags.sum(2).clamp(min=1)
        tags = array_on_cpu(gold_tags)
        if isinstance(tags, np.ndarray) and tags.dtype == np.int64:
            # Faster than PyTorch's indexing. -1 reads the last number of the table.
            numbers = weights.numpy()
            table = np.append(numbers, numbers.mean(dtype=numbers.dtype))
            return torch.from_numpy(table.take(tags, mode="wrap"))
        is_known = mask & (gold_tags >= 0)
        known = weights[torch.where(is_known, gold_tags, torch.zeros_like(gold_tags))]
        return torch.where(is_known, known, weights.mean())

    def _set_weights(self, weights: Sequence[float]) -> None:
        for k, weight in enumerate(weights):
            check_weight("tag_weights", str(k), weight)
        assert self.tag_weights is not None
        # In place, because `DistributedDataParallel` holds on to the buffers that it has seen.
        self.tag_weights.copy_(torch.tensor(weights))


def class_weights_by_label(label_weights: Dict[str, float], tags: Sequence[str]) -> List[float]:
    """The weight of each tag: its own, else its label's, else 1.

    If the tags spell no spans, each tag is its own label.

    Example:
        >>> class_weights_by_label({"PER": 2.0, "B-LOC": 3.0}, ["O", "B-PER", "I-PER", "B-LOC"])
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
        check_weight("label_weights", name, weight)
    return [
        float(label_weights.get(tag, label_weights.get(labels[tag] or tag, 1.0))) for tag in tags
    ]


def check_weight(argument: str, name: str, weight: float) -> None:
    """Raises a `ConfigurationError` unless a class weight is a positive finite number."""
    if not (is_number(weight) and weight > 0):
        raise ConfigurationError(
            f"`{argument}` gives `{name}` the weight {weight!r}; a weight must be a positive finite "
            f"number, and 1 leaves a label as it is"
        )


def _required(vocab: Optional[Vocabulary]) -> Vocabulary:
    if vocab is None:
        raise ConfigurationError(
            "`label_weights` and `weight_rule` need a vocabulary to look tags up; pass `vocab`, "
            "or give `tag_weights` or `tag_counts`, one per tag index"
        )
    return vocab
