"""A field for a teacher's probabilities."""

import logging
from functools import lru_cache
from typing import Sequence, Tuple

import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import TensorField

logger = logging.getLogger(__name__)


class SoftLabelsField(TensorField):
    """Probabilities of tags, in the teacher's order, `tags`, until they are indexed.

    Labels that only the student has are taken to have the probability 0, with a warning. Padding is 0.
    `tag_dimensions` are the dimensions of the tensor that run over tags.

    Example:
        >>> field = SoftLabelsField(torch.tensor([[0.9, 0.1]]), ["O", "U-PER"], (1,))
        >>> field.index(Vocabulary({"labels": {"U-PER": 2, "O": 1}}))
        >>> field.as_tensor(field.get_padding_lengths())
        tensor([[0.1000, 0.9000]])
    """

    __slots__ = ["_label_namespace", "_num_soft", "_tag_dimensions", "_tags"]

    def __init__(
        self,
        probabilities: torch.Tensor,
        tags: Sequence[str],
        tag_dimensions: Tuple[int, ...],
        label_namespace: str = "labels",
    ) -> None:
        super().__init__(probabilities)
        self._tags = tags
        # How many of the tags are the teacher's; behind them may be others of gold tags.
        self._num_soft = len(tags)
        self._tag_dimensions = tag_dimensions
        self._label_namespace = label_namespace

    def of_gold_tags(self, gold_tags: Sequence[str], lengths: Sequence[int]) -> "SoftLabelsField":
        """Returns the probabilities of sentences of these lengths if their gold tags are certain."""
        tags = [*dict.fromkeys([*self._tags, *gold_tags])]
        indices = torch.tensor([tags.index(tag) for tag in gold_tags])
        # (T, K)
        probabilities = torch.nn.functional.one_hot(indices, len(tags)).float()
        if len(self._tag_dimensions) == 2:
            # (N, K, K), the number of each transition in each of N sentences
            sentences = probabilities.split(list(lengths))
            probabilities = torch.stack([each[:-1].T @ each[1:] for each in sentences])
        field = SoftLabelsField(probabilities, tags, self._tag_dimensions, self._label_namespace)
        field._num_soft = self._num_soft
        return field

    def index(self, vocab: Vocabulary) -> None:
        """Reorders the probabilities to match the student's tags."""
        indices = vocab.get_token_to_index_vocabulary(self._label_namespace)
        names = sorted(indices, key=indices.__getitem__)
        soft_tags = set(self._tags[: self._num_soft])
        missing, unknown = indices.keys() - soft_tags, soft_tags - indices.keys()
        labels = {*map(_label_of, missing)}
        if unknown or labels & {*map(_label_of, soft_tags)}:
            raise ValueError(
                f"teacher and student must have the same tags; the teacher alone has "
                f"{_listed(unknown)}, the student alone {_listed(missing)}; give both the same "
                f"`tag_encoding`, and training data with the same labels"
            )
        if missing:
            _warn_of(_listed(labels))
        order = torch.tensor([self._tags.index(tag) if tag in self._tags else -1 for tag in names])
        for dimension in self._tag_dimensions:
            found = self.tensor.index_select(dimension, order.clamp(min=0))
            self.tensor = found.index_fill(dimension, (order < 0).nonzero()[:, 0], 0)
        self._tags, self._num_soft = names, len(names)


@lru_cache
def _warn_of(labels: str) -> None:
    logger.warning("no soft label is of %s, so it has the probability 0 in all of them", labels)


def _label_of(tag: str) -> str:
    return tag[2:] if tag[1:2] == "-" else tag


def _listed(tags: set) -> str:
    return ", ".join(sorted(tags)) or "none"
