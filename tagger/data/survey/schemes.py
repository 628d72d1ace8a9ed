"""What the tags of a file mean: spans in some encoding, plain labels, or several labels a token."""

from collections import Counter
from os import PathLike
from typing import Collection, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from tagger.data.column_file import Row
from tagger.data.survey.spellings import (
    OUTSIDE,
    SEPARATORS,
    STANDARD,
    UNKNOWN,
    canonical,
    find_spelling,
)
from tagger.spans import ENCODINGS, IllegalTagError, Span, check_tags, tags_to_spans

#: What may stand for no label.
_NO_LABELS = ("O", "_", "-")
#: The encodings that tags with prefixes may have.
_WITH_PREFIXES = tuple(each for each in ENCODINGS if each != "IO")


class Scheme(NamedTuple):
    """What the tags mean, in the words of the dataset reader `column`.

    Attributes:
        source_encoding: The encoding of the spans; None for labels that mark no spans.
        label_separator: The string between two labels of a token, if a token may have several.
        unknown_tag: The string that marks an unknown tag, if there is one.
        no_label_tag: The string for no label; of use with a `label_separator`.
        spelling: How the file spells `B-PER`; `canonical` spells its tags in the usual way.
    """

    source_encoding: Optional[str] = None
    label_separator: Optional[str] = None
    unknown_tag: Optional[str] = None
    no_label_tag: str = "O"
    spelling: str = STANDARD

    def canonical(self, tag: str) -> str:
        """Returns a tag as our encodings spell it."""
        if self.source_encoding == "IO":
            return "O" if tag in OUTSIDE else tag
        return tag if self.source_encoding is None else canonical(tag, self.spelling)


def find_scheme(sentences: Sequence[Sequence[str]]) -> Scheme:
    """Finds out what tags mean.

    Spans are in the first encoding in which every sentence is legal. BIO comes before IOB1, in which all
    sentences of BIO are legal, and so are those with mistakes. If no encoding fits all sentences, it is
    the one that fits most.

    Tokens may have several labels if a separator stands in some tags, and joins labels that most often
    occur alone or with others too.

    Args:
        sentences: The tags of each sentence.

    Example:
        >>> scheme = find_scheme([["I-PER", "O"], ["I-LOC", "B-LOC", "?"]])
        >>> scheme.source_encoding, scheme.unknown_tag
        ('IOB1', '?')
        >>> find_scheme([["ORG", "ORG|PER", "_"]]).label_separator
        '|'
    """
    counts = Counter(tag for tags in sentences for tag in tags)
    if set(counts) <= {"O", UNKNOWN}:
        return Scheme("BIO", unknown_tag=UNKNOWN if UNKNOWN in counts else None)
    spelling = find_spelling(counts)
    if spelling is not None:
        unknown = UNKNOWN if UNKNOWN in counts else None
        distinct = {tuple(canonical(tag, spelling) for tag in tags) for tags in sentences}
        encoding = _likely_encoding(distinct, unknown)
        return Scheme(encoding, unknown_tag=unknown, spelling=spelling)
    separator = next((each for each in SEPARATORS if _separates(each, counts)), None)
    if separator is None:
        return Scheme("IO") if marks_outside(counts) else Scheme()
    labels = [label for tag in counts for label in tag.split(separator)]
    return Scheme(
        label_separator=separator,
        unknown_tag=UNKNOWN if any(label.startswith(UNKNOWN) for label in labels) else None,
        no_label_tag=next((tag for tag in _NO_LABELS if tag in counts), "O"),
    )


def check_scheme(
    scheme: Scheme, sentences: Iterable[Sequence[Row]], tag_column: int, name: Union[str, PathLike]
) -> None:
    """Raises the reader's error about the first tag that is illegal.

    Args:
        scheme: What the tags mean.
        sentences: The lines of each sentence, with tags that `scheme.canonical` returns.
        tag_column: The column of the tags.
        name: The name of the file, for messages.

    Raises:
        ValueError: It starts with `name:line`.
    """
    if scheme.source_encoding is None:
        return
    for rows in sentences:
        tags = [row.columns[tag_column] for row in rows]
        try:
            check_tags(tags, scheme.source_encoding, scheme.unknown_tag)
        except IllegalTagError as error:
            row = rows[error.position]
            raise ValueError(f"{name}:{row.number}: in {row.quoted}, {error}") from None


def labels_in(tags: Sequence[str], scheme: Scheme) -> List[str]:
    """Returns the label of each span of a sentence, or the labels of each token, without unknown ones.

    The tags are those that `scheme.canonical` returns.

    Example:
        >>> labels_in(["B-PER", "I-PER", "O", "B-LOC"], Scheme("BIO"))
        ['PER', 'LOC']
        >>> labels_in(["ORG|?PER", "O", "PER"], Scheme(label_separator="|", unknown_tag="?"))
        ['ORG', 'PER']
    """
    return [label for label, _ in spans_in(tags, scheme)]


def spans_in(tags: Sequence[str], scheme: Scheme) -> List[Span]:
    """As `labels_in`, with the place of each span or token."""
    if scheme.source_encoding is not None:
        known = ["O" if tag == scheme.unknown_tag else tag for tag in tags]
        return tags_to_spans(known, scheme.source_encoding)
    if scheme.label_separator is None:
        return [(tag, (at, at)) for at, tag in enumerate(tags) if tag != "O"]
    return [
        (label, (at, at))
        for at, tag in enumerate(tags)
        if tag != scheme.no_label_tag
        for label in tag.split(scheme.label_separator)
        if scheme.unknown_tag is None or not label.startswith(scheme.unknown_tag)
    ]


def marks_outside(counts: Mapping[str, int]) -> bool:
    """Whether plain labels mark spans: no tag is more frequent than that of tokens outside of them.

    Example:
        >>> marks_outside({"O": 2, "PER": 2, "LOC": 1}), marks_outside({"N": 3, "V": 2, "O": 1})
        (True, False)
    """
    labels = [tag for tag in counts if tag not in (*OUTSIDE, UNKNOWN)]
    # With 0 and 1 as tags, 0 may be a label.
    found = [
        tag for tag in counts if tag in OUTSIDE and (tag != "0" or not "".join(labels).isdigit())
    ]
    return bool(labels and found) and max(counts.values()) == max(counts[tag] for tag in found)


def _likely_encoding(sentences: Collection[Sequence[str]], unknown_tag: Optional[str]) -> str:
    for encoding in _WITH_PREFIXES:
        if all(_is_legal(tags, encoding, unknown_tag) for tags in sentences):
            return encoding
    return max(
        _WITH_PREFIXES,
        key=lambda encoding: sum(_is_legal(tags, encoding, unknown_tag) for tags in sentences),
    )


def _is_legal(tags: Sequence[str], encoding: str, unknown_tag: Optional[str]) -> bool:
    try:
        check_tags(tags, encoding, unknown_tag)
    except IllegalTagError:
        return False
    return True


def _separates(separator: str, counts: Mapping[str, int]) -> bool:
    joined = [tag.split(separator) for tag in counts if separator in tag]
    if not joined or not all(all(labels) for labels in joined):
        return False
    # In how many different tags each label is.
    num_tags = Counter(
        label.removeprefix(UNKNOWN) for tag in counts for label in set(tag.split(separator))
    )
    labels = {label.removeprefix(UNKNOWN) for labels in joined for label in labels}
    num_free = sum(num_tags[label] > 1 for label in labels)
    return 2 * num_free >= len(labels)
