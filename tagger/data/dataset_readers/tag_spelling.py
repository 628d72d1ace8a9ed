"""Converts a file's tags into those of instances, and makes fields from them, as a `Reading` says."""

from typing import Any, List, Sequence

from allennlp.data import Field
from allennlp.data.fields import TextField

from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.data.fields.label_sets_field import LabelSetsField
from tagger.data.fields.tag_field import TagField
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.data.formats import PLAIN_TAGS, AnnotatedText, label_sets_of, tags_of
from tagger.data.reading import Reading
from tagger.data.survey.spellings import UNKNOWN
from tagger.spans import (
    AMBIGUOUS,
    IllegalTagError,
    TagSet,
    check_tags,
    possible_tags,
    spans_to_tags,
    split_tag,
    tags_to_spans,
)
from tagger.spans.encodings import prefixes_of
from tagger.spans.overlapping import label_tag_sets


def converted_tags(tags: Sequence[str], reading: Reading) -> List[Any]:
    """Returns the field's value for each token of a sentence: a tag, or a set of tags or labels."""
    if reading.label_separator is not None and not reading.label_chains:
        return _label_sets(tags, reading.label_separator, reading)
    if reading.source_encoding is None or reading.tag_encoding is None:
        return list(tags)
    encodings = reading.source_encoding, reading.tag_encoding
    if reading.label_chains:
        separator = reading.label_separator or ""
        tag_sets = label_tag_sets(tags, *encodings, reading.unknown_tag, separator)
        return _of_annotated(tag_sets, reading)
    if reading.labels is not None:
        return _tags_of_some_labels(tags, *encodings, reading)
    if reading.unknown_tag is not None:
        return list(possible_tags(tags, *encodings, reading.unknown_tag))
    return _converted(list(tags), *encodings)


def tags_of_text(fitted: AnnotatedText, reading: Reading) -> List[str]:
    """Returns the tags of a text from `fit_to_tokens` as a column file has them."""
    if reading.label_separator is not None and not reading.label_chains:
        return [_joined(labels, fitted.place, reading) for labels in label_sets_of(fitted)]
    is_plain = bool(fitted.properties.get(PLAIN_TAGS))
    source = reading.found(None if is_plain else "BIO").source_encoding
    if fitted.entities and is_plain != (source is None):
        raise ValueError(
            f"{fitted.place}: got a label for each token, which marks no entities; set "
            "`source_encoding` and `tag_encoding` to null"
            if is_plain
            else f"{fitted.place}: got entities; set `source_encoding`, such as to 'BIO'"
        )
    # IOB1 allows all of BIO, and IO cannot spell all entities.
    encoding = "BIO" if source in (None, *AMBIGUOUS) else source
    separator = reading.label_separator if reading.label_chains else None
    return tags_of(fitted, encoding, reading.unknown_tag, separator)


def tag_field(converted: Sequence[Any], text: TextField, reading: Reading) -> Field:
    """Makes the field from values of `converted`, for the tokens of one or several sentences."""
    namespace, unknown_tag = reading.label_namespace, reading.unknown_tag
    if reading.label_chains:
        return LabelChainsField(converted, text, namespace, unknown_tag, reading.labels)
    if reading.label_separator is not None:
        return LabelSetsField(converted, text, namespace, unknown_tag)
    if reading.labels is not None:
        return TagSetsField(converted, text, namespace, unknown_tag or UNKNOWN)
    if None in (reading.source_encoding, reading.tag_encoding) or unknown_tag is None:
        return TagField(list(converted), text, namespace, unknown_tag)
    return TagSetsField(converted, text, namespace, unknown_tag)


def _joined(labels: List[str], place: str, reading: Reading) -> str:
    separator, unknown = reading.label_separator or "", reading.unknown_tag
    for label in labels:
        is_unknown = unknown is not None and label.startswith(unknown)
        if separator in label or label == reading.no_label_tag or is_unknown:
            raise ValueError(
                f"{place}: label {label!r} cannot be told from `label_separator`, `no_label_tag` or "
                "`unknown_tag`; rename it or change these"
            )
    return separator.join(labels) or reading.no_label_tag


def _of_annotated(tag_sets: List[List[str]], reading: Reading) -> List[List[str]]:
    """Removes the tags of labels that were not annotated."""
    if reading.labels is None:
        return tag_sets
    unknown = reading.unknown_tag or ""
    return [
        [
            tag
            for tag in tags
            if tag == unknown or split_tag(tag.removeprefix(unknown))[1] in reading.labels
        ]
        for tags in tag_sets
    ]


def _tags_of_some_labels(
    tags: Sequence[str], source: str, target: str, reading: Reading
) -> List[TagSet]:
    """Returns the possible tags; a token without an annotated label may have any other label."""
    unknown = reading.unknown_tag or UNKNOWN
    labels = frozenset(reading.labels or ())
    check_tags(tags, source, reading.unknown_tag)
    open_tags = [
        tag if tag == unknown or split_tag(tag, source)[1] in labels else "O" for tag in tags
    ]
    sets = possible_tags(open_tags, source, target, unknown)
    prefixes = frozenset(prefixes_of(target))
    return [
        each._replace(labels=each.labels | labels, other_prefixes=prefixes)
        if each.only_tag == "O"
        else each
        for each in sets
    ]


def _label_sets(tags: Sequence[str], separator: str, reading: Reading) -> List[List[str]]:
    label_sets = [[] if tag == reading.no_label_tag else tag.split(separator) for tag in tags]
    for position, labels in enumerate(label_sets):
        if reading.no_label_tag in labels:
            raise IllegalTagError(
                f"`{tags[position]}` at position {position} has `{reading.no_label_tag}`, which "
                f"stands for no label, beside labels; leave it out, or set `no_label_tag`",
                position,
            )
    return label_sets


def _converted(tags: List[str], source: str, target: str) -> List[str]:
    """Checks and converts tags, splitting each only once."""
    try:
        spans = tags_to_spans(tags, source)
        is_legal = spans_to_tags(spans, len(tags), source) == tags
    except ValueError:
        is_legal = False
    if not is_legal:
        check_tags(tags, source)  # names the tag; IOB1 allows more `B-` than it needs
    return spans_to_tags(spans, len(tags), target)
