"""The training counts that a module waits for."""

from typing import List

import torch

from tagger.common.from_allennlp import Vocabulary
from tagger.common.vocabulary import tags_in_order
from tagger.training_counts.label_counts import LabelCounts


class AwaitedCounts:
    """The training counts of the labels of a vocabulary, for which a module waits.

    The trainer's callback `training_counts` supplies them when training starts. The module keeps what
    it derives from them in a buffer, which is saved with the model. Until the counts come, or trained
    weights are loaded, the buffer is negative or NaN.

    Args:
        vocab: The vocabulary that holds the labels.
        label_namespace: The vocabulary's namespace of the labels.

    Attributes:
        labels: The labels in the order of their indices.

    Raises:
        ConfigurationError: If the vocabulary has no labels.
    """

    def __init__(self, vocab: Vocabulary, label_namespace: str) -> None:
        self.labels = tags_in_order(vocab, label_namespace)
        self._label_namespace = label_namespace
        self._have_come = False

    def look_up(self, counts: LabelCounts) -> List[int]:
        """Returns the count of each label, in the order of their indices.

        Raises:
            ValueError: If training shows none of the labels.
        """
        by_label = counts.get(self._label_namespace, {})
        label_counts = [by_label.get(label, 0) for label in self.labels]
        if not any(label_counts):
            raise ValueError(
                f"training shows none of the labels {', '.join(self.labels)} of the namespace "
                f"`{self._label_namespace}`; check that the training data are labelled"
            )
        return label_counts

    def num_items(self, counts: LabelCounts) -> int:
        """Returns the number of training items whose labels are known."""
        return counts.num_items[self._label_namespace]

    def have_come(self, buffer: torch.Tensor) -> bool:
        """Returns whether the buffer holds what the module derives from the counts."""
        # Once the counts have come, do not look again: on a GPU, each look waits for the device.
        self._have_come = self._have_come or bool((buffer >= 0).all())
        return self._have_come

    def check_have_come(self, buffer: torch.Tensor) -> None:
        """Checks that the buffer holds what the module derives from the counts.

        Raises:
            RuntimeError: If it does not; the message says what to do.
        """
        if not self.have_come(buffer):
            raise RuntimeError(
                "the training labels have not been counted; add `callbacks: ['training_counts']` to "
                "the `trainer` in the config, or load trained weights"
            )
