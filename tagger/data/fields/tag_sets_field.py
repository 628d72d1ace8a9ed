"""A field for a sentence's tags, some of which are only partly known."""

from functools import lru_cache
from typing import Dict, List, Optional, Sequence, Tuple

import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceField

from tagger.data.fields.tag_field import TagField, check_vocabulary_holds, padded_rows
from tagger.spans import TagSet


class TagSetsField(TagField):
    """A set of possible tags for each element of a sequence; one of them is correct.

    The tensor is (T, K) bool for K tags: whether the element may have the tag. Padding is false.

    Attributes:
        tag_sets: The possible tags of each element.
        labels: The tag of each element if only one is possible, else `unknown_tag`.

    Example:
        >>> from allennlp.data import Token, Vocabulary
        >>> from allennlp.data.fields import TextField
        >>> from tagger.spans import possible_tags
        >>> tokens = TextField([Token("Ada"), Token("Lovelace")])
        >>> tag_sets = possible_tags(["I-PER", "?"], "IOB1", "BIOUL", unknown_tag="?")
        >>> field = TagSetsField(tag_sets, tokens, unknown_tag="?")
        >>> field.labels
        ['?', '?']
        >>> field.index(Vocabulary({"labels": {"O": 5, "B-PER": 4, "I-PER": 3, "L-PER": 2, "U-PER": 1}}))
        >>> field.as_tensor({"num_tokens": 2}).int().tolist()
        [[0, 1, 0, 0, 1], [1, 0, 0, 1, 1]]
    """

    __slots__ = ["_rows", "tag_sets"]

    def __init__(
        self,
        tag_sets: Sequence[TagSet],
        sequence_field: SequenceField,
        label_namespace: str = "labels",
        unknown_tag: str = "?",
    ) -> None:
        tags = [tags.only_tag or unknown_tag for tags in tag_sets]
        super().__init__(tags, sequence_field, label_namespace, unknown_tag)
        self.tag_sets = tag_sets
        self._rows: Optional[torch.Tensor] = None

    def tags_of_known_labels(self) -> List[str]:
        """Returns all possible tags of the elements where these share a label."""
        # The order must be fixed, because the vocabulary's indices depend on it.
        return [
            tag
            for tags in self.tag_sets
            if tags.only_tag is not None or tags.only_label is not None
            for tag in sorted(tags.tags)
        ]

    def index(self, vocab: Vocabulary) -> None:
        check_vocabulary_holds(self.tags_of_known_labels(), vocab, self._label_namespace)
        indices = vocab.get_token_to_index_vocabulary(self._label_namespace)
        names = tuple(sorted(indices, key=indices.__getitem__))
        rows = [_row(tags, names) for tags in self.tag_sets]
        for tags, row in zip(self.tag_sets, rows):
            if not any(row):
                check_vocabulary_holds(sorted(tags.tags), vocab, self._label_namespace)
        self._rows = torch.tensor(rows, dtype=torch.bool).view(len(rows), len(names))

    def as_tensor(self, padding_lengths: Dict[str, int]) -> torch.Tensor:
        return padded_rows(self._rows, padding_lengths, False)

    def empty_field(self) -> "TagSetsField":
        return TagSetsField([], self.sequence_field.empty_field(), self._label_namespace)


@lru_cache(maxsize=65536)
def _row(tags: TagSet, names: Tuple[str, ...]) -> List[bool]:
    return [tags.allows(name) for name in names]
