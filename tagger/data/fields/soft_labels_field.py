"""A field for a teacher's probabilities."""

from typing import Sequence, Tuple

import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import TensorField


class SoftLabelsField(TensorField):
    """Probabilities of tags, in the teacher's order, `tags`, until they are indexed.

    Padding is 0. `tag_dimensions` are the dimensions of the tensor that run over tags.

    Example:
        >>> field = SoftLabelsField(torch.tensor([[0.9, 0.1]]), ["O", "U-PER"], (1,))
        >>> field.index(Vocabulary({"labels": {"U-PER": 2, "O": 1}}))
        >>> field.as_tensor(field.get_padding_lengths())
        tensor([[0.1000, 0.9000]])
    """

    __slots__ = ["_label_namespace", "_tag_dimensions", "_tags"]

    def __init__(
        self,
        probabilities: torch.Tensor,
        tags: Sequence[str],
        tag_dimensions: Tuple[int, ...],
        label_namespace: str = "labels",
    ) -> None:
        super().__init__(probabilities)
        self._tags = tags
        self._tag_dimensions = tag_dimensions
        self._label_namespace = label_namespace

    def of_gold_tags(self, gold_tags: Sequence[str], lengths: Sequence[int]) -> "SoftLabelsField":
        """Returns the probabilities of sentences of these lengths if their gold tags are certain."""
        indices = torch.tensor([self._tags.index(tag) for tag in gold_tags])
        # (T, K)
        probabilities = torch.nn.functional.one_hot(indices, len(self._tags)).float()
        if len(self._tag_dimensions) == 2:
            # (N, K, K), the number of each transition in each of N sentences
            sentences = probabilities.split(list(lengths))
            probabilities = torch.stack([each[:-1].T @ each[1:] for each in sentences])
        return SoftLabelsField(
            probabilities, self._tags, self._tag_dimensions, self._label_namespace
        )

    def index(self, vocab: Vocabulary) -> None:
        """Reorders the probabilities to match the student's tags."""
        indices = vocab.get_token_to_index_vocabulary(self._label_namespace)
        names = sorted(indices, key=indices.__getitem__)
        if indices.keys() != set(self._tags):
            raise ValueError(
                f"teacher and student must have the same tags; the teacher alone has "
                f"{_listed(set(self._tags) - indices.keys())}, the student alone "
                f"{_listed(indices.keys() - set(self._tags))}; give both the same `tag_encoding`, and "
                f"training data with the same labels"
            )
        order = torch.tensor([self._tags.index(tag) for tag in names])
        for dimension in self._tag_dimensions:
            self.tensor = self.tensor.index_select(dimension, order)
        self._tags = names


def _listed(tags: set) -> str:
    return ", ".join(sorted(tags)) or "none"
