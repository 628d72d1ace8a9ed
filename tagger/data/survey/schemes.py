"""What the tags of a file mean: spans in some encoding, plain labels, or several labels a token."""

from collections import Counter
from os import PathLike
from typing import Collection, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from tagger.data.column_file import Row
from tagger.spans import (
    ENCODINGS,
    IllegalTagError,
    check_tags,
    split_tag,
    tags_to_spans,
)

#: Marks a tag that is unknown.
UNKNOWN = "?"
#: What may stand between two labels of a token, and for no label.
_SEPARATORS = ("|", "+", ";", ",")
_NO_LABELS = ("O", "_", "-")
#: Tags spell spans if at least this share of those that are not `O` do; the others are mistakes.
_LEAST_SHARE_OF_SPANS = 0.5


class Scheme(NamedTuple):
    """What the tags mean, in the words of the dataset reader `column`.

    Attributes:
        source_encoding: The encoding of the spans; None for labels that mark no spans.
        label_separator: The string between two labels of a token, if a token may have several.
        unknown_tag: The string that marks an unknown tag, if there is one.
        no_label_tag: The string for no label; of use with a `label_separator`.
    """

    source_encoding: Optional[str] = None
    label_separator: Optional[str] = None
    unknown_tag: Optional[str] = None
    no_label_tag: str = "O"


def are_spans(counts: Mapping[str, int]) -> bool:
    """Says whether tags spell spans, but for a few mistakes.

    Args:
        counts: The tags and their numbers.

    Example:
        >>> are_spans({"O": 30, "B-PER": 2, "I-PER": 1}), are_spans({"NOUN": 7, "VERB": 3})
        (True, False)
    """
    others = {tag: number for tag, number in counts.items() if tag not in ("O", UNKNOWN)}
    num_spans = sum(number for tag, number in others.items() if _is_span_tag(tag))
    return num_spans > 0 and num_spans >= _LEAST_SHARE_OF_SPANS * sum(others.values())


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
        >>> find_scheme([["I-PER", "O"], ["I-LOC", "B-LOC", "?"]])
        Scheme(source_encoding='IOB1', label_separator=None, unknown_tag='?', no_label_tag='O')
        >>> find_scheme([["ORG", "ORG|PER", "_"]]).label_separator
        '|'
    """
    counts = Counter(tag for tags in sentences for tag in tags)
    if are_spans(counts):
        unknown = UNKNOWN if UNKNOWN in counts else None
        distinct = set(map(tuple, sentences))
        return Scheme(_likely_encoding(distinct, unknown), unknown_tag=unknown)
    separator = next((each for each in _SEPARATORS if _separates(each, counts)), None)
    if separator is None:
        return Scheme()
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
        sentences: The lines of each sentence.
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

    Example:
        >>> labels_in(["B-PER", "I-PER", "O", "B-LOC"], Scheme("BIO"))
        ['PER', 'LOC']
        >>> labels_in(["ORG|?PER", "O", "PER"], Scheme(label_separator="|", unknown_tag="?"))
        ['ORG', 'PER']
    """
    if scheme.source_encoding is not None:
        known = ["O" if tag == scheme.unknown_tag else tag for tag in tags]
        return [label for label, _ in tags_to_spans(known, scheme.source_encoding)]
    if scheme.label_separator is None:
        return [tag for tag in tags if tag != "O"]
    return [
        label
        for tag in tags
        if tag != scheme.no_label_tag
        for label in tag.split(scheme.label_separator)
        if scheme.unknown_tag is None or not label.startswith(scheme.unknown_tag)
    ]


def _is_span_tag(tag: str) -> bool:
    try:
        split_tag(tag)
    except ValueError:
        return False
    return True


def _likely_encoding(sentences: Collection[Sequence[str]], unknown_tag: Optional[str]) -> str:
    for encoding in ENCODINGS:
        if all(_is_legal(tags, encoding, unknown_tag) for tags in sentences):
            return encoding
    return max(
        ENCODINGS,
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
