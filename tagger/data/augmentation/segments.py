"""Instances as segments: entities, and the words between them."""

import itertools
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Field, Instance, Token
from allennlp.data.fields import MetadataField, TensorField, TextField

from tagger.data.documents import DocumentTokens, word_ids
from tagger.data.fields.soft_labels_field import SoftLabelsField
from tagger.data.fields.tag_field import TagField
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.spans import TagSet, tags_to_spans

_FIELDS = {"tokens", "tags", "metadata", "sentence_lengths", "word_ids", "weights"}
_SOFT_FIELDS = {"soft_tags", "soft_transitions"}


class Word(NamedTuple):
    """A word, its tag (a `TagSet` or None if uncertain), and the text since the word before."""

    text: str
    tag: Any
    gap: str = " "


class Segment(NamedTuple):
    """An entity with its label, or words between entities.

    `is_known` is false for uncertain tags, and for entities beside them, which may be incomplete.
    """

    label: Optional[str]
    words: Tuple[Word, ...]
    is_known: bool = True


def segments_of(words: Sequence[Word], tag_encoding: str) -> List[Segment]:
    """Divides a sentence into segments.

    Example:
        >>> words = [Word("Ada", "B-PER"), Word("saw", "O"), Word("New", "B-LOC"), Word("York", "I-LOC")]
        >>> [(label, len(words)) for label, words, _ in segments_of(words, "BIO")]
        [('PER', 1), (None, 1), ('LOC', 2)]
    """
    is_known = [isinstance(word.tag, str) for word in words]
    spans = tags_to_spans([w.tag if isinstance(w.tag, str) else "O" for w in words], tag_encoding)
    keys: List[Tuple[int, bool]] = [(-1, known) for known in is_known]
    for number, (_, (start, end)) in enumerate(spans):
        is_whole = all(is_known[max(start - 1, 0) : end + 2])
        keys[start : end + 1] = [(number, is_whole)] * (end + 1 - start)
    return [
        Segment(spans[number][0] if number >= 0 else None, tuple(word for _, word in own), known)
        for (number, known), own in itertools.groupby(zip(keys, words), key=lambda pair: pair[0])
    ]


def sentences_of(instance: Instance) -> List[List[Word]]:
    """Returns the words of each sentence of an instance, as our readers make it."""
    field: Any = instance.fields.get("tags")
    if not isinstance(field, TagField) or not instance.fields.keys() <= _FIELDS | _SOFT_FIELDS:
        raise ConfigurationError(
            "`augmentation` needs one tag for each token, as the reader `column` gives without "
            f"`label_separator` and `label_chains`; got instances with {', '.join(instance.fields)}"
        )
    if isinstance(field, TagSetsField):
        tags: List[Any] = [each.only_tag or each for each in field.tag_sets]
    else:
        tags = [None if tag == field._unknown_tag else tag for tag in field.labels]
    document: Any = instance["tokens"].tokens  # type: ignore[attr-defined]
    rest, sentences = iter(tags), []
    for at in range(document.first, document.last):
        text, end, words = None if document.texts is None else document.texts[at], 0, []
        for token in document.document[at]:
            gap = " " if text is None else text[end : token.idx]
            words.append(Word(token.text or "", next(rest), gap))
            end = token.idx_end or 0
        sentences.append(words)
    return sentences


def with_sentences(instance: Instance, sentences: Sequence[Sequence[Word]]) -> Instance:
    """Returns an instance with other sentences, in its document and with its indexers.

    The teacher has not seen them, so their soft labels are their gold tags.
    """
    field: Any = instance["tokens"]
    old: DocumentTokens = field.tokens
    document, texts = list(old.document), None if old.texts is None else list(old.texts)
    for at, words in enumerate(sentences, start=old.first):
        document[at] = [Token(word.text) for word in words]
        if texts is not None:
            ends = itertools.accumulate(len(word.gap) + len(word.text) for word in words)
            document[at] = [Token(w.text, end - len(w.text), end) for w, end in zip(words, ends)]
            rest = texts[at][old.document[at][-1].idx_end :] if words else texts[at]
            texts[at] = "".join(word.gap + word.text for word in words) + rest
    tokens = DocumentTokens(document, old.first, old.last, texts)
    text = TextField(tokens, field.token_indexers)
    every, lengths = list(itertools.chain(*sentences)), list(map(len, sentences))
    fields = instance.fields.items()
    return Instance({name: _renewed(each, name, text, every, lengths) for name, each in fields})


def _renewed(
    field: Any, name: str, text: TextField, words: Sequence[Word], lengths: List[int]
) -> Field:
    """Returns a field of an instance for its new words."""
    texts, tags = [word.text for word in words], [word.tag for word in words]
    if isinstance(field, TagSetsField):
        sets = [TagSet(frozenset([tag])) if isinstance(tag, str) else tag for tag in tags]
        return TagSetsField(sets, text, field._label_namespace, field._unknown_tag or "")
    if isinstance(field, TagField):
        unknown = field._unknown_tag
        known: List[Any] = [unknown if tag is None else tag for tag in tags]
        return TagField(known, text, field._label_namespace, unknown)
    if isinstance(field, SoftLabelsField):
        return field.of_gold_tags(tags, lengths)
    if isinstance(field, MetadataField):
        return MetadataField({**field.metadata, "words": texts})
    if isinstance(field, TextField) or name == "weights":
        return field if name == "weights" else text
    return TensorField(torch.tensor(lengths if name == "sentence_lengths" else word_ids(texts)))
