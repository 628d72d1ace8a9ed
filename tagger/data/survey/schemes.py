"""Detects what tags mean: spans in some encoding, plain labels, or several labels per token."""

import re
from collections import Counter
from operator import itemgetter
from os import PathLike
from typing import Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from tagger.data.column_file import Row
from tagger.data.survey.spellings import (
    OUTSIDE,
    SEPARATORS,
    STANDARD,
    UNKNOWN,
    canonical,
    find_spelling,
    outside_tags,
    separator_of_spans,
)
from tagger.spans import ENCODINGS, IllegalTagError, Span, check_tags, tags_to_spans
from tagger.spans.overlapping import tags_by_label
from tagger_texts.merging import joined_tags

#: Possible tags for no label.
_NO_LABELS = ("O", "_", "-")
#: The possible encodings of tags with prefixes.
_WITH_PREFIXES = tuple(each for each in ENCODINGS if each != "IO")
#: Labels that are places, or the punctuation marks behind words.
_PLACE = re.compile(r"\d+\D\d+")
_MARK = re.compile(
    r"\W?(comma|period|full_?stop|colon|semi_?colon|dash|hyphen|(question|exclamation)_?(mark)?)",
    re.IGNORECASE,
)


class Scheme(NamedTuple):
    """The meaning of tags, as arguments of the dataset reader `column`.

    Attributes:
        source_encoding: The encoding of the spans; None for labels that mark no spans.
        label_separator: The string between two labels of a token, if a token may have several. If
            labels mark spans, it is the string between two tags of overlapping spans.
        unknown_tag: The string that marks an unknown tag, if there is one.
        no_label_tag: The string for no label; used with a `label_separator`.
        spelling: How the file spells `B-PER`; `canonical` converts its tags to the usual spelling.
        outside: Unusual tags of tokens outside of all spans, such as `NULL`.
    """

    source_encoding: Optional[str] = None
    label_separator: Optional[str] = None
    unknown_tag: Optional[str] = None
    no_label_tag: str = "O"
    spelling: str = STANDARD
    outside: Tuple[str, ...] = ()

    def canonical(self, tag: str) -> str:
        """Returns a tag in our usual spelling."""
        if tag in self.outside:
            return "O"
        if self.source_encoding == "IO":
            return "O" if tag in OUTSIDE else tag
        if self.source_encoding is not None and self.label_separator is not None:
            parts = (canonical(part, self.spelling) for part in tag.split(self.label_separator))
            return joined_tags(parts, self.label_separator)
        return tag if self.source_encoding is None else canonical(tag, self.spelling)

    def describe(self) -> str:
        """Says what the tags mean."""
        unknown = f"; {self.unknown_tag!r} is unknown" if self.unknown_tag else ""
        if self.label_separator is not None and self.source_encoding is not None:
            own = self._replace(label_separator=None).describe()
            return f"{own}, which overlap: {self.label_separator!r} joins the tags of a token"
        if self.label_separator is not None:
            return (
                f"several labels a token, joined by {self.label_separator!r}; {self.no_label_tag!r} "
                f"is none{unknown}"
            )
        if self.source_encoding is None:
            return f"plain labels, which mark no spans{unknown}"
        spelled = f", spelled {self.spelling}" if self.spelling != STANDARD else ""
        none = " and ".join(map(repr, self.outside))
        unknown += f"; {none} {'is' if len(self.outside) == 1 else 'are'} none" if none else ""
        return f"spans in {self.source_encoding}{spelled}{unknown}"


def find_scheme(sentences: Sequence[Sequence[str]]) -> Scheme:
    """Detects the meaning of sentences' tags.

    The encoding of spans is the first one in which every sentence is legal. BIO is tried before IOB1,
    because all BIO sentences are legal in IOB1, even those with mistakes. If no encoding fits all
    sentences, the one that fits most wins.

    Tokens may have several labels if some tags contain a separator, and if most of the labels that it
    joins also occur alone or with others.

    Example:
        >>> scheme = find_scheme([["I-PER", "O"], ["I-LOC", "B-LOC", "?"]])
        >>> scheme.source_encoding, scheme.unknown_tag
        ('IOB1', '?')
        >>> find_scheme([["ORG", "ORG|PER", "_"]]).label_separator
        '|'
    """
    counts = Counter(tag for tags in sentences for tag in tags)
    unknown = UNKNOWN if UNKNOWN in counts else None
    if set(counts) <= {"O", UNKNOWN}:
        return Scheme("BIO", unknown_tag=unknown)
    spelling = find_spelling(counts)
    if spelling is not None:
        joining = separator_of_spans(counts, spelling)
        if joining is not None and any(f"{joining}{UNKNOWN}" in tag for tag in counts):
            unknown = UNKNOWN
        # The common part of all encodings with prefixes.
        outside = outside_tags(counts, spelling)
        any_scheme = Scheme("BIO", joining, unknown, spelling=spelling, outside=outside)
        distinct = {
            tuple(own)
            for tags in sentences
            for own in _sequences([any_scheme.canonical(tag) for tag in tags], any_scheme)
        }

        def are_legal(tag_encoding: str) -> Iterator[bool]:
            return (_is_legal(tags, tag_encoding, unknown) for tags in distinct)

        fitting = (each for each in _WITH_PREFIXES if all(are_legal(each)))
        encoding = next(fitting, None) or max(_WITH_PREFIXES, key=lambda each: sum(are_legal(each)))
        return any_scheme._replace(source_encoding=encoding)
    separator = next((each for each in SEPARATORS if _separates(each, counts)), None)
    if separator is None:
        is_marking = marks_outside(counts)
        return Scheme("IO", outside=outside_tags(counts, None)) if is_marking else Scheme()
    labels = [label for tag in counts for label in tag.split(separator)]
    return Scheme(
        label_separator=separator,
        unknown_tag=UNKNOWN if any(label.startswith(UNKNOWN) for label in labels) else None,
        no_label_tag=next((tag for tag in _NO_LABELS if tag in counts), "O"),
    )


def check_scheme(
    scheme: Scheme, sentences: Iterable[Sequence[Row]], tag_column: int, name: Union[str, PathLike]
) -> None:
    """Raises an error with the line unless the tags, spelled by `scheme.canonical`, are legal."""
    if scheme.source_encoding is None:
        return
    for rows in sentences:
        tags = [row.columns[tag_column] for row in rows]
        try:
            for own in _sequences(tags, scheme):
                check_tags(own, scheme.source_encoding, scheme.unknown_tag)
        except IllegalTagError as error:
            row = rows[error.position]
            raise ValueError(f"{name}:{row.number}: in {row.quoted}, {error}") from None


def labels_in(tags: Sequence[str], scheme: Scheme) -> List[str]:
    """Returns the label of each span in a sentence, or the labels of each token, without unknown ones.

    Tags must be spelled by `scheme.canonical`.

    Example:
        >>> labels_in(["B-PER", "I-PER", "O", "B-LOC"], Scheme("BIO"))
        ['PER', 'LOC']
        >>> labels_in(["ORG|?PER", "O", "PER"], Scheme(label_separator="|", unknown_tag="?"))
        ['ORG', 'PER']
    """
    return [label for label, _ in spans_in(tags, scheme)]


def spans_in(tags: Sequence[str], scheme: Scheme) -> List[Span]:
    """Like `labels_in`, with the place of each span or token."""
    if scheme.source_encoding is not None:
        spans = []
        for own in _sequences(tags, scheme):
            known = ["O" if tag == scheme.unknown_tag else tag for tag in own]
            spans += tags_to_spans(known, scheme.source_encoding)
        return sorted(spans, key=itemgetter(1)) if scheme.label_separator else spans
    # With plain labels, `O` means no label.
    separator = scheme.label_separator
    none = "O" if separator is None else scheme.no_label_tag
    unknown = None if separator is None else scheme.unknown_tag
    return [
        (label, (at, at))
        for at, tag in enumerate(tags)
        if tag != none
        for label in (tag.split(separator) if separator else [tag])
        if unknown is None or not label.startswith(unknown)
    ]


def _sequences(tags: Sequence[str], scheme: Scheme) -> List[Sequence[str]]:
    """Returns a sentence's tags; if spans may overlap, the tags of each label."""
    if scheme.label_separator is None or scheme.source_encoding is None:
        return [tags]
    encoding = scheme.source_encoding if scheme.source_encoding == "IO" else None
    return [*tags_by_label(tags, encoding, scheme.unknown_tag, scheme.label_separator).values()]


def marks_outside(counts: Mapping[str, int]) -> bool:
    """Whether plain labels mark spans: then the tag outside of spans is the most frequent one.

    `O` may be rarer among labels of several letters, since it is a part of speech only among letters.

    Example:
        >>> marks_outside({"O": 2, "PER": 2, "LOC": 1}), marks_outside({"N": 3, "V": 2, "O": 1})
        (True, False)
        >>> marks_outside({"PER": 5, "O": 1}), marks_outside({"OTHER": 5, "PER": 1})
        (True, True)
    """
    unusual = outside_tags(counts, None)
    labels = [tag for tag in counts if tag not in (*OUTSIDE, UNKNOWN, *unusual)]
    # With 0 and 1 as tags, 0 may be a label; key=value and numbers are features of words.
    found = [
        tag for tag in counts if tag in OUTSIDE and (tag != "0" or not "".join(labels).isdigit())
    ]
    if not labels or not (found or unusual) or any("=" in label for label in labels):
        return False
    # Places such as 1:2 are no labels, and marks such as COMMA belong to one word each.
    if all(map(_PLACE.fullmatch, labels)) or all(map(_MARK.fullmatch, labels)):
        return False
    if max(counts.values()) == max(counts[tag] for tag in (*found, *unusual)):
        return True
    return "O" in found and all(len(label) > 1 for label in labels)


def _is_legal(tags: Sequence[str], tag_encoding: str, unknown_tag: Optional[str]) -> bool:
    try:
        check_tags(tags, tag_encoding, unknown_tag)
    except IllegalTagError:
        return False
    return True


def _separates(separator: str, counts: Mapping[str, int]) -> bool:
    joined = [tag.split(separator) for tag in counts if separator in tag]
    if not joined or not all(all(labels) for labels in joined):
        return False
    # The number of distinct tags that contain each label.
    num_tags = Counter(
        label.removeprefix(UNKNOWN) for tag in counts for label in set(tag.split(separator))
    )
    labels = {label.removeprefix(UNKNOWN) for labels in joined for label in labels}
    num_free = sum(num_tags[label] > 1 for label in labels)
    return 2 * num_free >= len(labels)
