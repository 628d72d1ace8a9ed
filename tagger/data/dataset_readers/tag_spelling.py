"""How a column file spells tags, and the fields that are made of them."""

from typing import Any, List, NamedTuple, Optional, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import Field
from allennlp.data.fields import TextField

from tagger.data.fields import LabelSetsField, TagField, TagSetsField
from tagger.data.formats import PLAIN_TAGS, AnnotatedText, label_sets_of, tags_of
from tagger.data.survey.column_survey import AUTO
from tagger.spans import (
    AMBIGUOUS,
    ENCODINGS,
    IllegalTagError,
    check_tags,
    convert_tags,
    possible_tags,
    split_tag,
)


class TagSpelling(NamedTuple):
    """How a file spells tags, and how instances do. The arguments are those of the reader `column`."""

    source_encoding: Optional[str]
    tag_encoding: Optional[str]
    unknown_tag: Optional[str]
    label_namespace: str
    label_separator: Optional[str]
    no_label_tag: str

    def found(
        self, source_encoding: Optional[str], unknown_tag: Optional[str] = None
    ) -> "TagSpelling":
        """Returns the spelling of a file, in which this encoding was found, if none was named."""
        if self.source_encoding != AUTO:
            return self
        return self._replace(
            source_encoding=source_encoding,
            tag_encoding=self.tag_encoding if source_encoding else None,
            unknown_tag=self.unknown_tag or unknown_tag,
        )

    def converted(self, tags: Sequence[str]) -> List[Any]:
        """Returns what the field holds for each token of a sentence: a tag, a set of tags or labels.

        Raises:
            IllegalTagError: If the tags are not a legal sequence, or labels contradict themselves.
        """
        if self.label_separator is not None:
            return self._label_sets(tags, self.label_separator)
        if self.source_encoding is None or self.tag_encoding is None:
            return list(tags)
        encodings = self.source_encoding, self.tag_encoding
        if self.unknown_tag is not None:
            return list(possible_tags(tags, *encodings, self.unknown_tag))
        check_tags(tags, self.source_encoding)
        return list(convert_tags(tags, *encodings))

    def of_text(self, fitted: AnnotatedText) -> List[str]:
        """Returns the tags of a text's tokens as a column file has them.

        Args:
            fitted: A text from `fit_to_tokens`.

        Raises:
            ValueError: If entities overlap and a token has one tag, if the text has entities where the
                file has plain labels or the reverse, or if a label cannot be spelled.
        """
        if self.label_separator is not None:
            return [self._joined(labels, fitted) for labels in label_sets_of(fitted)]
        is_plain = bool(fitted.properties.get(PLAIN_TAGS))
        if self.source_encoding == AUTO:
            return self.found(None if is_plain else "BIO").of_text(fitted)
        if fitted.entities and is_plain != (self.source_encoding is None):
            raise ValueError(
                f"{fitted.place}: got a label for each token, which marks no entities; set "
                "`source_encoding` and `tag_encoding` to null"
                if is_plain
                else f"{fitted.place}: got entities; set `source_encoding`, such as to 'BIO'"
            )
        # IOB1 allows all of BIO, and IO cannot spell all entities.
        encoding = "BIO" if self.source_encoding in (None, *AMBIGUOUS) else self.source_encoding
        return tags_of(fitted, encoding, self.unknown_tag)

    def _joined(self, labels: List[str], fitted: AnnotatedText) -> str:
        """Returns the labels of a token in one string."""
        separator, unknown = self.label_separator or "", self.unknown_tag
        for label in labels:
            if (
                separator in label
                or label == self.no_label_tag
                or label[: len(unknown or "")] == unknown
            ):
                raise ValueError(
                    f"{fitted.place}: label {label!r} cannot be told from `label_separator`, "
                    "`no_label_tag` or `unknown_tag`; rename it or change these"
                )
        return separator.join(labels) or self.no_label_tag

    def field(self, converted: Sequence[Any], text: TextField) -> Field:
        """Makes the field of what `converted` returned, for the tokens of one sentence or of several."""
        namespace, unknown_tag = self.label_namespace, self.unknown_tag
        if self.label_separator is not None:
            return LabelSetsField(converted, text, namespace, unknown_tag)
        if self.source_encoding is None or self.tag_encoding is None:
            return TagField(list(converted), text, namespace, unknown_tag)
        if unknown_tag is not None:
            return TagSetsField(converted, text, namespace, unknown_tag)
        return TagField(list(converted), text, namespace)

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


def spelling_of(
    source_encoding: Optional[str],
    tag_encoding: Optional[str],
    unknown_tag: Optional[str],
    label_namespace: str,
    label_separator: Optional[str],
    no_label_tag: str,
) -> TagSpelling:
    """Checks the arguments of the reader `column` that spell tags, and fills in their defaults.

    Raises:
        ConfigurationError: If an encoding is unknown, plain labels are to be converted, or `unknown_tag`
            has a meaning already.
    """
    encodings = {"source_encoding": source_encoding, "tag_encoding": tag_encoding}
    for name, encoding in encodings.items():
        if encoding not in (None, *ENCODINGS) and (name, encoding) != ("source_encoding", AUTO):
            raise ConfigurationError(
                f"`{name}` is {encoding!r}, expected one of {', '.join(ENCODINGS)}, or null"
            )
    if label_separator is not None:
        source_encoding = None
    if tag_encoding and not source_encoding:
        raise ConfigurationError(
            f"`tag_encoding` is {tag_encoding!r}, but `source_encoding` is null, or there is a "
            "`label_separator`, and plain labels mark no spans to convert; leave `tag_encoding` out"
        )
    check_unknown_tag(unknown_tag, source_encoding, no_label_tag if label_separator else None)
    if unknown_tag is not None and tag_encoding == "IO":
        raise ConfigurationError(
            "`tag_encoding` is 'IO', in which no tag may be unknown; leave `unknown_tag` or it out"
        )
    default = "BIO" if source_encoding in (AUTO, *AMBIGUOUS) else source_encoding
    return TagSpelling(
        source_encoding,
        tag_encoding or default,
        unknown_tag,
        label_namespace,
        label_separator,
        no_label_tag,
    )


def check_unknown_tag(
    unknown_tag: Optional[str], source_encoding: Optional[str], no_label_tag: Optional[str]
) -> None:
    """Refuses a string for unknown tags that has a meaning already.

    Raises:
        ConfigurationError: If it is empty, `no_label_tag`, or a tag of `source_encoding`.
    """
    if unknown_tag is None:
        return
    meaning = "" if unknown_tag else "empty"
    if unknown_tag == no_label_tag:
        meaning = "the tag of a token without a label"
    elif source_encoding not in (None, "IO"):
        encoding = "BIO" if source_encoding == AUTO else source_encoding
        meaning = meaning or (f"a tag of {encoding}" if _is_tag(unknown_tag, encoding) else "")
    if meaning:
        raise ConfigurationError(
            f"`unknown_tag` is {unknown_tag!r}, which is {meaning}; name a string that stands for "
            f"nothing else in the file, such as '?'"
        )


def _is_tag(text: str, encoding: Optional[str]) -> bool:
    try:
        split_tag(text, encoding)
    except ValueError:
        return False
    return True
