"""Converts a file's tags into those of instances, and makes fields from them."""

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.data import Field
from allennlp.data.fields import TextField

from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.data.fields.label_sets_field import LabelSetsField
from tagger.data.fields.tag_field import TagField
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.data.formats import PLAIN_TAGS, AnnotatedText, label_sets_of, tags_of
from tagger.data.survey.column_survey import AUTO
from tagger.data.survey.spellings import UNKNOWN
from tagger.spans import (
    AMBIGUOUS,
    ENCODINGS,
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
from tagger_texts.merging import SEPARATOR


class TagSpelling(NamedTuple):
    """How files and instances spell tags. The arguments are those of the reader `column`."""

    source_encoding: Optional[str]
    tag_encoding: Optional[str]
    unknown_tag: Optional[str]
    label_namespace: str
    label_separator: Optional[str]
    no_label_tag: str
    label_chains: bool = False
    labels: Optional[Tuple[str, ...]] = None

    def checked(self) -> "TagSpelling":
        """Checks the arguments and fills in defaults."""
        source, target = self.source_encoding, self.tag_encoding
        if (self.label_chains or self.labels is not None) and source is None:
            raise ConfigurationError(
                "`label_chains` and `labels` need tags that spell entities, but `source_encoding` is "
                "null; set it to 'auto', or leave them out"
            )
        if self.label_chains and self.label_separator is None:
            return self._replace(label_separator=SEPARATOR).checked()
        for name, encoding in {"source_encoding": source, "tag_encoding": target}.items():
            if encoding not in (None, *ENCODINGS) and (name, encoding) != ("source_encoding", AUTO):
                raise ConfigurationError(
                    f"`{name}` is {encoding!r}, expected one of {', '.join(ENCODINGS)}, or null"
                )
        if self.label_separator is not None and not self.label_chains:
            source = None
        if target and not source:
            raise ConfigurationError(
                f"`tag_encoding` is {target!r}, but `source_encoding` is null, or there is a "
                "`label_separator`, and plain labels mark no spans to convert; leave `tag_encoding` out"
            )
        meaning = self._meaning_of_unknown_tag(source)
        if meaning:
            raise ConfigurationError(
                f"`unknown_tag` is {self.unknown_tag!r}, which is {meaning}; name a string that stands "
                "for nothing else in the file, such as '?'"
            )
        if self.unknown_tag is not None and target == "IO":
            raise ConfigurationError(
                "`tag_encoding` is 'IO', in which no tag may be unknown; leave `unknown_tag` or it out"
            )
        default = "BIO" if source in (AUTO, *AMBIGUOUS) else source
        return self._replace(source_encoding=source, tag_encoding=target or default)

    def found(
        self, source_encoding: Optional[str], unknown_tag: Optional[str] = None
    ) -> "TagSpelling":
        """Returns the spelling with the encoding found in a file, unless the user specified one."""
        if self.source_encoding != AUTO:
            return self
        return self._replace(
            source_encoding=source_encoding,
            tag_encoding=self.tag_encoding if source_encoding else None,
            unknown_tag=self.unknown_tag or unknown_tag,
        )

    def converted(self, tags: Sequence[str]) -> List[Any]:
        """Returns the field's value for each token of a sentence: a tag, or a set of tags or labels."""
        if self.label_separator is not None and not self.label_chains:
            return self._label_sets(tags, self.label_separator)
        if self.source_encoding is None or self.tag_encoding is None:
            return list(tags)
        encodings = self.source_encoding, self.tag_encoding
        if self.label_chains:
            return self._of_annotated(
                label_tag_sets(tags, *encodings, self.unknown_tag, self.label_separator or "")
            )
        if self.labels is not None:
            return self._tags_of_some_labels(tags, *encodings)
        if self.unknown_tag is not None:
            return list(possible_tags(tags, *encodings, self.unknown_tag))
        return _converted(list(tags), *encodings)

    def of_text(self, fitted: AnnotatedText) -> List[str]:
        """Returns the tags of a text from `fit_to_tokens` as a column file has them."""
        if self.label_separator is not None and not self.label_chains:
            return [self._joined(labels, fitted.place) for labels in label_sets_of(fitted)]
        is_plain = bool(fitted.properties.get(PLAIN_TAGS))
        source = self.found(None if is_plain else "BIO").source_encoding
        if fitted.entities and is_plain != (source is None):
            raise ValueError(
                f"{fitted.place}: got a label for each token, which marks no entities; set "
                "`source_encoding` and `tag_encoding` to null"
                if is_plain
                else f"{fitted.place}: got entities; set `source_encoding`, such as to 'BIO'"
            )
        # IOB1 allows all of BIO, and IO cannot spell all entities.
        encoding = "BIO" if source in (None, *AMBIGUOUS) else source
        separator = self.label_separator if self.label_chains else None
        return tags_of(fitted, encoding, self.unknown_tag, separator)

    def field(self, converted: Sequence[Any], text: TextField) -> Field:
        """Makes the field from values of `converted`, for the tokens of one or several sentences."""
        namespace, unknown_tag = self.label_namespace, self.unknown_tag
        if self.label_chains:
            return LabelChainsField(converted, text, namespace, unknown_tag, self.labels)
        if self.label_separator is not None:
            return LabelSetsField(converted, text, namespace, unknown_tag)
        if self.labels is not None:
            return TagSetsField(converted, text, namespace, unknown_tag or UNKNOWN)
        if None in (self.source_encoding, self.tag_encoding) or unknown_tag is None:
            return TagField(list(converted), text, namespace, unknown_tag)
        return TagSetsField(converted, text, namespace, unknown_tag)

    def _meaning_of_unknown_tag(self, source: Optional[str]) -> Optional[str]:
        if self.unknown_tag is None:
            return None
        if self.label_separator is not None and self.unknown_tag == self.no_label_tag:
            return "the tag of a token without a label"
        if not self.unknown_tag:
            return "empty"
        encoding = "BIO" if source == AUTO else source
        try:
            if encoding not in (None, "IO"):
                split_tag(self.unknown_tag, encoding)
                return f"a tag of {encoding}"
        except ValueError:
            pass
        return None

    def _joined(self, labels: List[str], place: str) -> str:
        separator, unknown = self.label_separator or "", self.unknown_tag
        for label in labels:
            is_unknown = unknown is not None and label.startswith(unknown)
            if separator in label or label == self.no_label_tag or is_unknown:
                raise ValueError(
                    f"{place}: label {label!r} cannot be told from `label_separator`, `no_label_tag` or "
                    "`unknown_tag`; rename it or change these"
                )
        return separator.join(labels) or self.no_label_tag

    def _of_annotated(self, tag_sets: List[List[str]]) -> List[List[str]]:
        """Removes the tags of labels that were not annotated."""
        if self.labels is None:
            return tag_sets
        unknown = self.unknown_tag or ""
        return [
            [
                tag
                for tag in tags
                if tag == unknown or split_tag(tag.removeprefix(unknown))[1] in self.labels
            ]
            for tags in tag_sets
        ]

    def _tags_of_some_labels(self, tags: Sequence[str], source: str, target: str) -> List[TagSet]:
        """Returns the possible tags; a token without an annotated label may have any other label."""
        unknown = self.unknown_tag or UNKNOWN
        labels = frozenset(self.labels or ())
        check_tags(tags, source, self.unknown_tag)
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

    def _label_sets(self, tags: Sequence[str], separator: str) -> List[List[str]]:
        label_sets = [[] if tag == self.no_label_tag else tag.split(separator) for tag in tags]
        for position, labels in enumerate(label_sets):
            if self.no_label_tag in labels:
                raise IllegalTagError(
                    f"`{tags[position]}` at position {position} has `{self.no_label_tag}`, which "
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
