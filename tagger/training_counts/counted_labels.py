"""A module that keeps how often training shows each label."""

from typing import List, Optional

import torch

from tagger.common.from_allennlp import ConfigurationError, Vocabulary
from tagger.training_counts.awaited_counts import AwaitedCounts
from tagger.training_counts.label_counts import LabelCounts

_UNKNOWN = -1


class CountedLabels(torch.nn.Module):
    """The counts of C labels among N training items, as buffers that are saved with the model.

    Give the counts, or a vocabulary. With a vocabulary, the trainer's callback `training_counts`
    supplies the counts when training starts; they are unknown until then.

    Args:
        label_counts: The number of training items that have each label, by index.
        num_items: The number of training items whose labels are known.
        vocab: The vocabulary that holds the labels.
        label_namespace: The vocabulary's namespace of the labels.

    Raises:
        ConfigurationError: If both numbers and the vocabulary are missing, a count is negative or above
            `num_items`, or the vocabulary has no labels.
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
        self._awaited: Optional[AwaitedCounts] = None
        if label_counts is None and num_items is None and vocab is not None:
            self._awaited = AwaitedCounts(vocab, label_namespace)
            label_counts, num_items = [_UNKNOWN] * len(self._awaited.labels), _UNKNOWN
        elif (
            label_counts is None
            or num_items is None
            or not all(0 <= count <= num_items for count in label_counts)
        ):
            raise ConfigurationError(
                f"`label_counts`, one for each label, and `num_items`, at least as many, are needed "
                f"together, or else `vocab`; got {label_counts} and {num_items}"
            )
        # Integers, because a model in half precision would round floats.
        self.register_buffer("label_counts", torch.tensor(label_counts))
        self.register_buffer("num_items", torch.tensor(num_items))

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Takes the counts over, unless the constructor was given some.

        Raises:
            ValueError: If training shows none of the labels.
        """
        if self._awaited is None:
            return
        # In place: `DistributedDataParallel` keeps the buffers that it has seen.
        self.label_counts.copy_(torch.tensor(self._awaited.look_up(counts)))
        self.num_items.fill_(self._awaited.num_items(counts))

    def are_known(self) -> bool:
        """Returns whether the counts are known."""
        return self._awaited is None or self._awaited.have_come(self.num_items)

    def check_known(self) -> None:
        """Checks that the counts are known.

        Raises:
            RuntimeError: If they are not; the message says what to do.
        """
        if self._awaited is not None:
            self._awaited.check_have_come(self.num_items)
