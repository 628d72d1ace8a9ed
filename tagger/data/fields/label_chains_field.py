"""A field for entities that may overlap: a sequence of tags for each label."""

from typing import Collection, Dict, List, Optional, Sequence

import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceField

from tagger.common.training_counts import LabelCounts
from tagger.data.fields.label_sets_field import LabelSetsField
from tagger.spans import split_tag
from tagger.spans.overlapping import chain_namespace


class LabelChainsField(LabelSetsField):
    """The tags of each element, at most one of each label: `[["B-ORG"], ["B-LOC", "I-ORG"], []]`.

    The tensor is like that of `LabelSetsField`, for tags instead of labels. The tags of labels that were
    not annotated are -1 everywhere; in annotated sequences, tokens without a tag have `O`.

    Args:
        annotated: The annotated labels; None for all.

    Example:
        >>> from allennlp.data import Token, Vocabulary
        >>> from allennlp.data.fields import TextField
        >>> tokens = TextField([Token("Ada"), Token("left")])
        >>> field = LabelChainsField([["B-PER"], []], tokens, annotated=["PER"])
        >>> field.index(Vocabulary({"labels": {"O": 3, "B-PER": 2, "B-LOC": 1}}))
        >>> field.as_tensor({"num_tokens": 2}).tolist()
        [[0, 1, -1], [0, 0, -1]]
    """

    __slots__ = ["_tags", "annotated"]

    def __init__(
        self,
        tag_sets: Sequence[Sequence[str]],
        sequence_field: SequenceField,
        label_namespace: str = "labels",
        unknown_tag: Optional[str] = None,
        annotated: Optional[Collection[str]] = None,
    ) -> None:
        super().__init__(tag_sets, sequence_field, label_namespace, unknown_tag)
        self.annotated = annotated
        self._tags: List[str] = []

    def index(self, vocab: Vocabulary) -> None:
        super().index(vocab)
        indices = vocab.get_token_to_index_vocabulary(self.label_namespace)
        self._tags = sorted(indices, key=indices.__getitem__)
        if self.annotated is not None and self._rows is not None:
            labels = [split_tag(tag)[1] for tag in self._tags]
            unknown = [each is not None and each not in self.annotated for each in labels]
            self._rows[:, torch.tensor(unknown)] = -1

    def count_labels(self, counts: LabelCounts) -> None:
        """Counts the known tags of each label, including `O`, in the label's namespace.

        Before `index`, only labels that occur in elements are known.
        """
        super().count_labels(counts)
        rows = self._rows
        if rows is None:
            return
        by_label: Dict[str, List[int]] = {}
        for column, tag in enumerate(self._tags):
            label = split_tag(tag)[1]
            if label is not None:
                by_label.setdefault(label, []).append(column)
        for label, columns in by_label.items():
            own = rows[:, columns]
            known = own[(own >= 0).all(1)]
            tags = [self._tags[columns[at]] for at in (known == 1).nonzero()[:, 1].tolist()]
            tags += ["O"] * int((known == 0).all(1).sum())
            counts.add(chain_namespace(self.label_namespace, label), tags, len(known))

    def empty_field(self) -> "LabelChainsField":
        return LabelChainsField([], self.sequence_field.empty_field(), self.label_namespace)
