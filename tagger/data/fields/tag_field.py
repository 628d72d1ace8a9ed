"""A field for the tags of a sentence, some of which may be unknown."""

from typing import Dict, Iterable, List, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceField, SequenceLabelField

from tagger.common.training_counts import LabelCounts, Times


class TagField(SequenceLabelField):
    """Like AllenNLP's `SequenceLabelField`, with a string for unknown tags.

    That string is not in the vocabulary; its index is -1. As in AllenNLP, padding is 0, and the tokens'
    mask tells it apart.

    Example:
        >>> from allennlp.data import Token, Vocabulary
        >>> from allennlp.data.fields import TextField
        >>> tokens = TextField([Token("Ada"), Token("left")])
        >>> field = TagField(["U-PER", "?"], tokens, unknown_tag="?")
        >>> field.index(Vocabulary({"labels": {"U-PER": 1}}))
        >>> field.as_tensor({"num_tokens": 3})
        tensor([ 0, -1,  0])
    """

    __slots__ = ["_unknown_tag"]
    labels: List[str]

    def __init__(
        self,
        tags: List[str],
        sequence_field: SequenceField,
        label_namespace: str = "labels",
        unknown_tag: Optional[str] = None,
    ) -> None:
        super().__init__(tags, sequence_field, label_namespace)
        self._unknown_tag = unknown_tag

    def known_tags(self) -> List[str]:
        return [tag for tag in self.labels if tag != self._unknown_tag]

    def tags_of_known_labels(self) -> List[str]:
        """Returns the tags that are in the vocabulary."""
        return self.known_tags()

    def count_vocab_items(self, counter: Dict[str, Dict[str, int]]) -> None:
        for tag in self.tags_of_known_labels():
            counter[self._label_namespace][tag] += 1

    def count_labels(self, counts: LabelCounts, times: Times = None) -> None:
        if times is not None:
            times = [n for n, tag in zip(times, self.labels) if tag != self._unknown_tag]
        counts.add(self._label_namespace, self.known_tags(), times)

    def index(self, vocab: Vocabulary) -> None:
        check_vocabulary_holds(self.known_tags(), vocab, self._label_namespace)
        indices = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._indexed_labels = [indices.get(tag, -1) for tag in self.labels]


def padded_rows(
    rows: Optional[torch.Tensor], padding_lengths: Dict[str, int], padding: int
) -> torch.Tensor:
    """Pads a field's rows, one per element, (T, K), to (`num_tokens`, K)."""
    if rows is None:
        raise ConfigurationError("call `index(vocabulary)` on a field before `as_tensor`")
    num_padding = padding_lengths["num_tokens"] - len(rows)
    return torch.nn.functional.pad(rows, (0, 0, 0, num_padding), value=padding)


def check_vocabulary_holds(
    tags: Iterable[str],
    vocab: Vocabulary,
    label_namespace: str,
    field: str = "tags",
    parts: Tuple[str, str] = ("token", "sentences"),
) -> None:
    """Raises a `ValueError` with a remedy if the vocabulary lacks one of a field's tags.

    `parts` words the message: what carries a tag, and what to leave out of the data.
    """
    indices = vocab.get_token_to_index_vocabulary(label_namespace)
    for tag in tags:
        if tag not in indices:
            raise ValueError(
                f"`{field}` holds {tag!r}, which the vocabulary's namespace `{label_namespace}` "
                f"lacks: the training data had no {parts[0]} with it (they had {', '.join(indices)}). "
                f"Leave such {parts[1]} out, or train with this {field[:-1]} in the config's "
                f"`vocabulary`: {{tokens_to_add: {{{label_namespace}: ['{tag}']}}}}"
            )
