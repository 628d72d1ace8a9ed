"""Fields for any number of labels: per token, where some may be unknown, or per document."""

from itertools import compress
from typing import Dict, Iterable, List, Optional, Sequence, Set

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.fields import Field, MultiLabelField, SequenceField

from tagger.common.training_counts import LabelCounts, Times
from tagger.data.fields.tag_field import check_vocabulary_holds, padded_rows
from tagger.spans import IllegalTagError


class LabelSetsField(Field[torch.Tensor]):
    """A set of labels for each element of a sequence.

    The tensor is (T, C) int64 for C labels: 1 if the element has the label, 0 if not, and -1 if that is
    unknown. Padding is -1 too, so that it never counts as a negative.

    Args:
        label_sets: The labels of each element; `[]` if it has none.
        sequence_field: The sequence that the labels belong to.
        label_namespace: The namespace of the labels in the vocabulary.
        unknown_tag: The string for unknown labels: `["?"]` means that all labels of an element are
            unknown, `["A", "?B"]` that it has A, may have B, and has no other. None if no label is
            unknown.

    Raises:
        ConfigurationError: If the numbers of sets and elements differ.
        IllegalTagError: If a set has an empty label or contradicts itself. It is a `ValueError`.

    Example:
        >>> from allennlp.data import Token, Vocabulary
        >>> from allennlp.data.fields import TextField
        >>> tokens = TextField([Token(word) for word in "Bank of China in".split()])
        >>> field = LabelSetsField([["ORG"], ["ORG", "?LOC"], ["?"], []], tokens, unknown_tag="?")
        >>> field.index(Vocabulary({"labels": {"ORG": 2, "LOC": 1}}))
        >>> field.as_tensor({"num_tokens": 4}).tolist()
        [[1, 0], [1, -1], [-1, -1], [0, 0]]
    """

    __slots__ = ["_rows", "label_namespace", "label_sets", "sequence_field", "unknown_tag"]

    def __init__(
        self,
        label_sets: Sequence[Sequence[str]],
        sequence_field: SequenceField,
        label_namespace: str = "labels",
        unknown_tag: Optional[str] = None,
    ) -> None:
        if len(label_sets) != sequence_field.sequence_length():
            raise ConfigurationError(
                f"`label_sets` must hold one set for each element of `sequence_field`; got "
                f"{len(label_sets)} and {sequence_field.sequence_length()}"
            )
        self.label_sets = [list(labels) for labels in label_sets]
        self.sequence_field = sequence_field
        self.label_namespace = label_namespace
        self.unknown_tag = unknown_tag
        self._rows: Optional[torch.Tensor] = None
        for position, labels in enumerate(self.label_sets):
            self._check(labels, f"{labels} at position {position}", position)

    def count_vocab_items(self, counter: Dict[str, Dict[str, int]]) -> None:
        """Counts the known labels."""
        for labels in self.label_sets:
            for label in self._known(labels):
                counter[self.label_namespace][label] += 1

    def count_labels(self, counts: LabelCounts, times: Times = None) -> None:
        """Adds the known labels to `counts`; elements with only unknown labels are not items."""
        is_item = [labels != [self.unknown_tag] for labels in self.label_sets]
        times = None if times is None else compress(times, is_item)
        items = map(self._known, compress(self.label_sets, is_item))
        counts.add_sets(self.label_namespace, items, times)

    def index(self, vocab: Vocabulary) -> None:
        """Looks up the labels, skipping unknown ones that the vocabulary lacks."""
        indices = vocab.get_token_to_index_vocabulary(self.label_namespace)
        self._rows = torch.zeros(len(self.label_sets), len(indices), dtype=torch.long)
        for row, labels in zip(self._rows, self.label_sets):
            if labels == [self.unknown_tag]:
                row.fill_(-1)
                continue
            known = self._known(labels)
            check_vocabulary_holds(known, vocab, self.label_namespace)
            row[[indices[label] for label in known]] = 1
            unknown = self._unknown(labels)
            row[[indices[label] for label in unknown if label in indices]] = -1

    def get_padding_lengths(self) -> Dict[str, int]:
        return {"num_tokens": len(self.label_sets)}

    def as_tensor(self, padding_lengths: Dict[str, int]) -> torch.Tensor:
        return padded_rows(self._rows, padding_lengths, padding=-1)

    def empty_field(self) -> "LabelSetsField":
        return LabelSetsField(
            [], self.sequence_field.empty_field(), self.label_namespace, self.unknown_tag
        )

    def human_readable_repr(self) -> List[List[str]]:
        return self.label_sets

    def __len__(self) -> int:
        return len(self.label_sets)

    def _known(self, labels: Sequence[str]) -> Set[str]:
        return {label for label in labels if not self._is_unknown(label)}

    def _unknown(self, labels: Sequence[str]) -> Set[str]:
        prefix = self.unknown_tag or ""
        return {label[len(prefix) :] for label in labels if self._is_unknown(label)}

    def _is_unknown(self, label: str) -> bool:
        return self.unknown_tag is not None and label.startswith(self.unknown_tag)

    def _check(self, labels: List[str], place: str, position: int) -> None:
        known, unknown = self._known(labels), self._unknown(labels)
        if "" in known or ("" in unknown and len(labels) > 1):
            neither = "must be labels, or `unknown_tag` alone; an empty string is neither"
            raise IllegalTagError(f"{place} {neither}", position)
        for label in sorted(known & unknown):
            both = f"has {label!r} both known and unknown; leave one out"
            raise IllegalTagError(f"{place} {both}", position)


class DocumentLabelsField(MultiLabelField):
    """Like AllenNLP's `MultiLabelField`, but labels may be unknown, and errors say which are new.

    The tensor is (C,) int64 for C labels: 1 if the document has the label, 0 if not, and -1 if that is
    unknown.

    Args:
        labels: The labels that the document has.
        label_namespace: The namespace of the labels in the vocabulary.
        unknown: Labels that it may have or not.
        absent: The labels that it is known not to have; any that are named nowhere are then unknown.
            None if it has no labels but `labels` and maybe `unknown`.

    Example:
        >>> field = DocumentLabelsField(["wheat"], unknown=["rye"])
        >>> field.index(Vocabulary({"labels": {"corn": 3, "wheat": 2, "rye": 1}}))
        >>> field.as_tensor(field.get_padding_lengths())
        tensor([ 0,  1, -1])
    """

    def __init__(
        self,
        labels: Sequence[str],
        label_namespace: str = "labels",
        unknown: Iterable[str] = (),
        absent: Optional[Iterable[str]] = None,
    ) -> None:
        super().__init__(labels, label_namespace=label_namespace)
        self.unknown = frozenset(unknown)
        self.absent = None if absent is None else frozenset(absent)
        self._is_unknown = torch.zeros(0, dtype=torch.bool)

    def count_labels(self, counts: LabelCounts, times: Times = None) -> None:
        """Adds the labels to `counts`; a document with only unknown labels is no item."""
        if self.labels or self.absent is None or self.absent:
            counts.add_sets(self._label_namespace, [map(str, self.labels)], times)

    def index(self, vocab: Vocabulary) -> None:
        """Looks up the labels, skipping unknown and absent ones that the vocabulary lacks."""
        check_vocabulary_holds(
            map(str, self.labels), vocab, self._label_namespace, "labels", ("document", "documents")
        )
        super().index(vocab)
        by_index = vocab.get_index_to_token_vocabulary(self._label_namespace)
        names = [by_index[index] for index in range(len(by_index))]
        known = {*self.labels, *(names if self.absent is None else self.absent)} - self.unknown
        self._is_unknown = torch.tensor([name not in known for name in names], dtype=torch.bool)

    def as_tensor(self, padding_lengths: Dict[str, int]) -> torch.Tensor:
        return super().as_tensor(padding_lengths).masked_fill(self._is_unknown, -1)

    def empty_field(self) -> "DocumentLabelsField":
        return DocumentLabelsField([], self._label_namespace, absent=[])
