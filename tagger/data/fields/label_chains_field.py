"""A field for entities that may overlap: a sequence of tags for each label."""

from itertools import compress, islice
from typing import Collection, Dict, List, Optional, Sequence

import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceField

from tagger.common.training_counts import LabelCounts, Times
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

    def count_labels(self, counts: LabelCounts, times: Times = None) -> None:
        """Counts the known tags of each label, including `O`, in the label's namespace.

        Before `index`, only labels that occur in elements are known.
        """
        times = None if times is None else [*islice(times, len(self))]
        super().count_labels(counts, times)
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
            is_known = (own >= 0).all(1).tolist()
            # The tag of each token, and `O` where it has none of the label.
            best, at = (each.tolist() for each in own[is_known].max(1))
            tags = [self._tags[columns[k]] if has else "O" for has, k in zip(best, at)]
            known = None if times is None else compress(times, is_known)
            counts.add(chain_namespace(self.label_namespace, label), tags, known)

    def empty_field(self) -> "LabelChainsField":
        return LabelChainsField([], self.sequence_field.empty_field(), self.label_namespace)
