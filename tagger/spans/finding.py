"""Spans in arrays of tag indices, for all sentences of a batch at once: pure functions."""

from itertools import product
from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.spans.conversion import tags_to_spans
from tagger.spans.encodings import AMBIGUOUS, join_tag, split_tag
from tagger.spans.transitions import transition_table

#: The gold index of a token with an unknown tag.
UNKNOWN = -1


class TagTables(NamedTuple):
    """What each of K tags says about spans, as arrays to index with tags.

    The last entry, K, lies outside all spans; `UNKNOWN`, -1, reads it too.

    Attributes:
        labels: The C labels, sorted.
        label_of: (K + 1,) int64, the tag's label as an index into `labels`, -1 outside of spans.
        continues: (K + 1, K + 1) bool, `continues[tag before, tag]`: whether a span goes on.
        opens: (K + 1,) bool, whether a span that starts with this tag counts.
        closes: (K + 1,) bool, whether a span that ends with this tag counts.
    """

    labels: List[str]
    label_of: np.ndarray
    continues: np.ndarray
    opens: np.ndarray
    closes: np.ndarray


class Spans(NamedTuple):
    """S spans, in order: indices of labels, and positions of first and last tokens, (S,) int64 each."""

    labels: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def where(self, is_kept: np.ndarray) -> "Spans":
        """Returns those of the spans for which `is_kept`, (S,) bool, is true."""
        return Spans(*(column[is_kept] for column in self))


def tag_tables(tags: Sequence[str], tag_encoding: Optional[str], strict: bool = False) -> TagTables:
    """Tabulates the rules of an encoding, or with `None` those of plain labels, for each of K tags.

    The label of tags without one is `_`, as in seqeval. No token continues a span of plain labels. If
    `strict`, a span counts only if its tags are legal from its first token to its last.
    """
    if strict and tag_encoding is None:
        raise ValueError("`strict` is true, but the tags spell no spans; set `strict` to false")
    if strict and tag_encoding in AMBIGUOUS:
        raise ValueError(
            f"`strict` is true and `tag_encoding` is {tag_encoding!r}, in which no span is illegal; set "
            "`strict` to false, or have the tags read as BIO"
        )
    num_tags = len(tags)
    names = [_label_name(tag, tag_encoding) for tag in tags]
    labels = sorted(set(filter(None, names)))
    number_of = {label: number for number, label in enumerate(labels)}
    label_of = np.array([*(number_of[name] if name else -1 for name in names), -1])
    opens, closes = np.ones((2, num_tags + 1), dtype=bool)
    if strict and tag_encoding is not None:
        allowed = transition_table(tag_encoding, tags)
        opens[:num_tags], closes[:num_tags] = allowed[-2, :-2], allowed[:-2, -1]
    return TagTables(labels, label_of, _continues(tags, label_of, tag_encoding), opens, closes)


def _continues(
    tags: Sequence[str], label_of: np.ndarray, tag_encoding: Optional[str]
) -> np.ndarray:
    # (K + 1, K + 1)
    continues = np.zeros((len(label_of),) * 2, dtype=bool)
    if tag_encoding is None:
        return continues
    np.equal(label_of[:, np.newaxis], label_of, out=continues)
    continues[label_of < 0] = False
    # Within a label, prefixes decide.
    prefixes = np.array([*(split_tag(tag, tag_encoding)[0] for tag in tags), "O"])
    for before, after in product(set(prefixes) - {"O"}, repeat=2):
        pair = [join_tag(prefix, "X", tag_encoding) for prefix in (before, after)]
        if len(tags_to_spans(pair, tag_encoding)) != 1:
            continues[np.ix_(prefixes == before, prefixes == after)] = False
    return continues


def certain_tags(gold_tags: np.ndarray) -> np.ndarray:
    """Returns the gold tags, (B, T) int, or where sets of tags, (B, T, K), have one; else `UNKNOWN`."""
    if gold_tags.ndim == 2:
        return gold_tags
    return np.where(gold_tags.sum(2) == 1, gold_tags.argmax(2), UNKNOWN)


def tags_of_certain_labels(tables: TagTables, gold_tags: np.ndarray) -> np.ndarray:
    """Returns a possible gold tag of each token, (B, T) int, `UNKNOWN` if their labels differ."""
    if gold_tags.ndim == 2:
        return gold_tags
    # (B, T)
    first = gold_tags.argmax(2)
    label_of = tables.label_of[:-1]
    # (B, T, K)
    has_label = label_of == label_of[first][..., np.newaxis]
    is_certain = gold_tags.any(2) & (has_label | ~gold_tags).all(2)
    return np.where(is_certain, first, UNKNOWN)


def without_open_labels(
    tables: TagTables, predicted: np.ndarray, gold_tags: np.ndarray
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns predicted tags and gold tags of spans and of tokens, (B, T) int each, for scoring.

    The last two are `certain_tags` and `tags_of_certain_labels`, with one difference. If a set of tags
    is `O` with all tags of some labels and no tag of others, then annotators looked for the others and
    found none. There, the gold tag is `O`, and predicted tags of the first become `O`.
    """
    gold_of_spans = certain_tags(gold_tags)
    gold_of_tokens = tags_of_certain_labels(tables, gold_tags)
    if gold_tags.ndim == 2:
        return predicted, gold_of_spans, gold_of_tokens
    label_of = tables.label_of[:-1]
    # (K, C), (B, T, C)
    has_label = label_of[:, np.newaxis] == np.arange(len(tables.labels))
    number = gold_tags.astype(np.int64) @ has_label
    is_open = number == has_label.sum(0)
    is_clear = (is_open | (number == 0)).all(2) & gold_tags[:, :, label_of < 0].any(2)
    # With all labels open, nobody has looked; with none, the tag is known.
    is_outside = is_clear & is_open.any(2) & ~is_open.all(2)
    of_predicted = label_of[predicted]
    is_ignored = np.take_along_axis(is_open, of_predicted[:, :, np.newaxis], 2)[:, :, 0]
    outside = int(label_of.argmin())
    predicted = np.where(is_outside & is_ignored & (of_predicted >= 0), outside, predicted)
    gold_of_spans = np.where(is_outside, outside, gold_of_spans)
    return predicted, gold_of_spans, np.where(is_outside, outside, gold_of_tokens)


def lay_end_to_end(tags: np.ndarray, mask: np.ndarray, outside: int) -> np.ndarray:
    """Returns tags, (B, T), as one row, (N,), with `outside`, K, around rows and where masked."""
    # (B, T + 2)
    bordered = np.full((tags.shape[0], tags.shape[1] + 2), outside)
    np.copyto(bordered[:, 1:-1], tags, where=mask)
    return bordered.ravel()


def rows_and_tokens(positions: np.ndarray, num_tokens: int) -> Tuple[np.ndarray, np.ndarray]:
    """Undoes `lay_end_to_end`: returns the rows and the tokens of positions, (S,) int64 each."""
    rows, places = np.divmod(positions, num_tokens + 2)
    return rows, places - 1


def find_spans(tables: TagTables, tags: np.ndarray) -> Spans:
    """Finds the spans in tags, (N,), as from `lay_end_to_end`, by the rules of `tags_to_spans`.

    With strict tables, spans with an illegal tag are left out, as in seqeval's strict mode.
    """
    is_inside = tables.label_of[tags] >= 0
    # (N + 1,), whether the span of token n - 1 goes on at token n
    goes_on = np.zeros(len(tags) + 1, dtype=bool)
    goes_on[1:-1] = tables.continues[tags[:-1], tags[1:]]
    # Every token inside belongs to one span, so the first start has the first end, and so on.
    starts = np.flatnonzero(is_inside & ~goes_on[:-1])
    ends = np.flatnonzero(is_inside & ~goes_on[1:])
    spans = Spans(tables.label_of[tags[starts]], starts, ends)
    return spans.where(tables.opens[tags[starts]] & tables.closes[tags[ends]])


def known_spans(spans: Spans, gold_tags: np.ndarray) -> Spans:
    """Returns the spans that neither contain a token of `UNKNOWN` gold tag, (N,), nor are beside one."""
    num_unknown = num_before(gold_tags == UNKNOWN)
    # Each span has a border or a token on either side, so these positions exist.
    return spans.where(num_unknown[spans.starts - 1] == num_unknown[spans.ends + 2])


def num_before(is_counted: np.ndarray) -> np.ndarray:
    """Returns how many entries of `is_counted`, (N,), are true before each position, (N + 1,)."""
    return np.concatenate(([0], np.cumsum(is_counted)))


def _label_name(tag: str, tag_encoding: Optional[str]) -> Optional[str]:
    """Returns the label of a tag, `None` for `O`."""
    label = (
        split_tag(tag, tag_encoding)[1]
        if tag_encoding is not None
        else (None if tag == "O" else tag)
    )
    return "_" if label == "" else label
