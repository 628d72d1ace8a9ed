"""A field for a sequence of vectors."""

from itertools import islice
from typing import Dict

import numpy as np
import torch
from allennlp.data.fields import SequenceField, TextField

from tagger.common.training_counts import LabelCounts, Times

Tensors = Dict[str, Dict[str, torch.Tensor]]


class NumbersField(SequenceField[Tensors]):
    """A vector for each step: (T, D) float32, NaN where a number is missing.

    It takes the place of a `TextField`, with one indexer, `numbers`: `{"numbers": (T, D) float32, 0 in
    the padding, "mask": (T,) bool}`. The embedder `numbers` reads these tensors.

    Example:
        >>> field = NumbersField(np.array([[0.5, 2.0], [1.5, 4.0]], dtype=np.float32))
        >>> field.as_tensor({"num_tokens": 3})["numbers"]["numbers"].tolist()
        [[0.5, 2.0], [1.5, 4.0], [0.0, 0.0]]
    """

    __slots__ = ["numbers"]

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def count_labels(self, counts: LabelCounts, times: Times = None) -> None:
        """Adds the numbers to `counts`, unless they weigh 0."""
        if times is None or any(islice(times, len(self))):
            counts.numbers.append(self.numbers)

    def sequence_length(self) -> int:
        return len(self.numbers)

    def get_padding_lengths(self) -> Dict[str, int]:
        return {"num_tokens": len(self.numbers)}

    def as_tensor(self, padding_lengths: Dict[str, int]) -> Tensors:
        num_padding = padding_lengths["num_tokens"] - len(self.numbers)
        numbers = torch.from_numpy(np.pad(self.numbers, ((0, num_padding), (0, 0))))
        mask = torch.arange(len(numbers)) < len(self.numbers)
        return {"numbers": {"numbers": numbers, "mask": mask}}

    batch_tensors = TextField.batch_tensors

    def empty_field(self) -> "NumbersField":
        return NumbersField(self.numbers[:0])

    def __len__(self) -> int:
        return len(self.numbers)
