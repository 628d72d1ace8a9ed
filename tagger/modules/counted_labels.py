"""How often training shows each label, kept with a model."""

from typing import List, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.data.label_counts import LabelCounts
from tagger.vocabulary import tags_in_order

_NOT_COUNTED = -1


class CountedLabels(torch.nn.Module):
    """The counts of C labels among N training items, as buffers that are saved with the model.

    Give the counts; or a vocabulary, and the trainer's callback `training_counts` supplies them when
    training starts. Until then they are not to be had.

    Args:
        label_counts: how many training items have each label, by index.
        num_items: how many training items have labels that are known, whether any or none.
        vocab: the vocabulary that holds the labels.
        label_namespace: the vocabulary's namespace of the labels.

    Raises:
        ConfigurationError: if there is neither a vocabulary nor both numbers, these are no counts, or
            the vocabulary has no labels.
    """

    label_counts: torch.Tensor
    num_items: torch.Tensor

    def __init__(
        self,
        label_counts: Optional[List[int]] = None,
        num_items: Optional[int] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        # Known where a trainer supplies the counts.
        self._labels: List[str] = []
        self._label_namespace = label_namespace
        if label_counts is None and num_items is None and vocab is not None:
            self._labels = tags_in_order(vocab, label_namespace)
            label_counts, num_items = [_NOT_COUNTED] * len(self._labels), _NOT_COUNTED
        elif (
            label_counts is None
            or num_items is None
            or not all(0 <= count <= num_items for count in label_counts)
        ):
            raise ConfigurationError(
                f"`label_counts`, one for each label, and `num_items`, at least as many, are needed "
                f"together, or else `vocab`; got {label_counts} and {num_items}"
            )
        # Integers: a model in half precision would round them.
        self.register_buffer("label_counts", torch.tensor(label_counts))
        self.register_buffer("num_items", torch.tensor(num_items))
        self._is_counted = False

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Takes the counts over, unless they have been given.

        Raises:
            ValueError: if training shows none of the labels.
        """
        if not self._labels:
            return
        of_labels = counts.get(self._label_namespace, {})
        label_counts = [of_labels.get(label, 0) for label in self._labels]
        if not any(label_counts):
            raise ValueError(
                f"training shows none of the labels {', '.join(self._labels)} of the namespace "
                f"`{self._label_namespace}`; check that the training data are labelled"
            )
        # In place: `DistributedDataParallel` holds on to the buffers that it has met.
        self.label_counts.copy_(torch.tensor(label_counts))
        self.num_items.fill_(counts.num_items[self._label_namespace])

    def is_counted(self) -> bool:
        """Whether the counts are known."""
        # Looked at until known, and then no more: on a GPU each look waits for the device.
        self._is_counted = self._is_counted or bool(self.num_items >= 0)
        return self._is_counted

    def check_counted(self) -> None:
        """Raises a `RuntimeError` that says what to do if the counts are not known."""
        if not self.is_counted():
            raise RuntimeError(
                "the training labels have not been counted; add `callbacks: ['training_counts']` to "
                "the `trainer` in the config, or load trained weights"
            )
