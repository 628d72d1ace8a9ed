"""Counts of spans by gold and predicted label: pure functions on arrays.

Letters: `B` sentences, `T` tokens, `K` tags, `C` labels, `S` spans, `N` tokens laid end to end.
"""

from itertools import product
from typing import List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

from tagger.did_you_mean import did_you_mean
from tagger.label_encoding import allowed_transitions, tags_to_spans

#: The gold index of a token whose tag is not known.
UNKNOWN = -1

#: What becomes of a gold span where no predicted one has its boundaries; see `count_spans`.
GOLD_FATES = ("boundary", "both", "missed")
#: What a predicted span is where no gold one has its boundaries.
PREDICTED_FATES = ("boundary", "both", "spurious")


class TagTables(NamedTuple):
    """What the tags of an encoding say about spans, for look-up by tag index.

    Entry K, the last, which `UNKNOWN` reads too, is no tag of the vocabulary: it is outside all spans.

    Attributes:
        labels: The C labels that count, sorted.
        label_of: (K + 1,) int64, the tag's label as an index into `labels`, -1 outside the spans that
            count.
        continues: (K + 1, K + 1) bool, whether a token continues the span of the one before it:
            `continues[tag before, tag]`.
        opens: (K + 1,) bool, whether a span that starts with this tag counts.
        closes: (K + 1,) bool, whether a span that ends with this tag counts.
    """

    labels: List[str]
    label_of: np.ndarray
    continues: np.ndarray
    opens: np.ndarray
    closes: np.ndarray


class Spans(NamedTuple):
    """S spans, in order.

    Attributes:
        labels: (S,) int64, indices of labels.
        starts: (S,) int64, positions of first tokens.
        ends: (S,) int64, positions of last tokens, inclusive.
    """

    labels: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def tag_tables(
    tags: Sequence[str],
    encoding: Optional[str],
    strict: bool = False,
    ignore_labels: Optional[Sequence[str]] = None,
) -> TagTables:
    """Tabulates what `tagger.label_encoding` says of each tag and of each two in a row.

    Args:
        tags: The tag of each index 0 ... K - 1. Tags without a label have the label `_`, as in seqeval.
        encoding: One of `tagger.label_encoding.ENCODINGS`; None if the tags spell no spans: each but `O`
            is then its own label, and no token continues a span.
        strict: Whether a span counts only if its tags are legal from its first token to its last.
        ignore_labels: Labels whose spans never count.

    Raises:
        ValueError: If a tag is not one of this encoding, `ignore_labels` names no label of these tags,
            or `strict` is asked of IOB1 or of no encoding.
    """
    if strict and encoding is None:
        raise ValueError("`strict` is true, but the tags spell no spans; set `strict` to false")
    if strict and encoding == "IOB1":
        raise ValueError(
            "`strict` is true and `encoding` is 'IOB1', in which no span is illegal; set `strict` to "
            "false, or have the tags read as BIO"
        )
    num_tags = len(tags)
    names = [_label_name(tag, encoding) for tag in tags]
    known = {name for name in names if name is not None}
    ignored = set(ignore_labels or ())
    _check_names(ignored, known)
    labels = sorted(known - ignored)
    label_of = [labels.index(name) if name in labels else -1 for name in names]

    continues = np.zeros((num_tags + 1, num_tags + 1), dtype=bool)
    for i, j in product(range(num_tags), repeat=2):
        if encoding is not None and label_of[i] == label_of[j] >= 0:
            continues[i, j] = len(tags_to_spans([tags[i], tags[j]], encoding)) == 1

    opens, closes = np.ones((2, num_tags + 1), dtype=bool)
    if strict and encoding is not None:
        allowed = set(allowed_transitions(encoding, dict(enumerate(tags))))
        opens[:num_tags] = [(num_tags, k) in allowed for k in range(num_tags)]
        closes[:num_tags] = [(k, num_tags + 1) in allowed for k in range(num_tags)]
    return TagTables(labels, np.array([*label_of, -1]), continues, opens, closes)


def find_spans(tables: TagTables, tags: np.ndarray) -> Spans:
    """Finds the spans in a flat array of tags, by the rules of `tagger.label_encoding.tags_to_spans`.

    A tag that cannot continue the span before it opens one, as in conlleval and in seqeval's default
    mode. Strict tables then leave out the spans with an illegal tag, as seqeval's strict mode does.

    Args:
        tables: Of the K tags.
        tags: (N,) int, tag indices, K where there is none. Sentences must be parted by a K, or spans
            cross from one into the next.
    """
    is_inside = tables.label_of[tags] >= 0
    # (N + 1,), whether the span of token n - 1 goes on at token n
    goes_on = np.zeros(len(tags) + 1, dtype=bool)
    goes_on[1:-1] = tables.continues[tags[:-1], tags[1:]]
    # Every token inside belongs to one span, so the first start has the first end, and so on.
    starts = np.flatnonzero(is_inside & ~goes_on[:-1])
    ends = np.flatnonzero(is_inside & ~goes_on[1:])
    spans = Spans(tables.label_of[tags[starts]], starts, ends)
    return _select(spans, tables.opens[tags[starts]] & tables.closes[tags[ends]])


def count_spans(tables: TagTables, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Counts spans by what is gold and what is predicted (the classes of Manning 2006).

    Where a gold and a predicted span have the same boundaries, the pair counts once, in the row of the
    gold label and the column of the predicted one. Of the other spans each counts by itself: as
    `boundary` if it overlaps one of its label, as `both` if it overlaps only others, and if none as
    `missed`, a gold one, or `spurious`, a predicted one. So a gold label's row adds up to its gold
    spans, and a predicted label's column to its predicted ones.

    A span, predicted or gold, counts neither way if it holds a token of unknown gold tag or lies
    right beside one. So whether a span counts depends on where it lies and never on whether it is
    right: tags hidden at random favour neither right spans nor wrong ones, but shorter ones.

    Args:
        tables: Of the K tags and C labels.
        predicted: (N,) int, tag indices, as from `lay_end_to_end`.
        gold: (N,) int, likewise, `UNKNOWN` where the tag is not known.

    Returns:
        (C + 3, C + 3) int64: rows are the gold labels and `PREDICTED_FATES`, columns the predicted
        labels and `GOLD_FATES`.
    """
    num_labels = len(tables.labels)
    gold_spans, predicted_spans = find_spans(tables, gold), find_spans(tables, predicted)
    gold_cover, predicted_cover = (_cover(s, len(gold)) for s in (gold_spans, predicted_spans))
    num_common = _num_before((gold_cover >= 0) & (predicted_cover >= 0))
    num_alike = _num_before((gold_cover >= 0) & (predicted_cover == gold_cover))

    def fates(spans: Spans) -> np.ndarray:
        overlaps, overlaps_its_label = (
            num[spans.ends + 1] > num[spans.starts] for num in (num_common, num_alike)
        )
        return num_labels + np.where(overlaps_its_label, 0, np.where(overlaps, 1, 2))

    gold_spans, predicted_spans = (known_spans(s, gold) for s in (gold_spans, predicted_spans))
    columns, rows = fates(gold_spans), fates(predicted_spans)
    _, i, j = np.intersect1d(
        gold_spans.starts, predicted_spans.starts, assume_unique=True, return_indices=True
    )
    same_end = gold_spans.ends[i] == predicted_spans.ends[j]
    i, j = i[same_end], j[same_end]
    columns[i] = predicted_spans.labels[j]
    unpaired = np.ones(len(rows), dtype=bool)
    unpaired[j] = False

    size = num_labels + len(GOLD_FATES)
    cells = np.concatenate(
        [gold_spans.labels * size + columns, (rows * size + predicted_spans.labels)[unpaired]]
    )
    return np.bincount(cells, minlength=size**2).reshape(size, size)


def lay_end_to_end(tags: np.ndarray, mask: np.ndarray, outside: int) -> np.ndarray:
    """Returns the rows in one, (N,), a border of `outside` on both sides of each.

    Args:
        tags: (B, T) int.
        mask: (B, T) bool, which tokens are real; `outside` stands for the others.
        outside: K, which is no tag.
    """
    # (B, T + 2)
    bordered = np.full((tags.shape[0], tags.shape[1] + 2), outside)
    np.copyto(bordered[:, 1:-1], tags, where=mask)
    return bordered.ravel()


def rows_and_tokens(positions: np.ndarray, num_tokens: int) -> Tuple[np.ndarray, np.ndarray]:
    """Returns where positions of `lay_end_to_end` were before it, rows and tokens, (S,) int64 each.

    Args:
        positions: (S,) int64, of tokens, none of a border.
        num_tokens: T.
    """
    rows, places = np.divmod(positions, num_tokens + 2)
    return rows, places - 1


def known_spans(spans: Spans, gold: np.ndarray) -> Spans:
    """Returns those spans that hold no token of unknown gold tag and lie beside none.

    Args:
        spans: predicted or gold ones.
        gold: (N,) int, gold tag indices, as from `lay_end_to_end`, `UNKNOWN` where not known.
    """
    num_unknown = _num_before(gold == UNKNOWN)
    # A border lies on either side of every span, so these positions exist.
    return _select(spans, num_unknown[spans.starts - 1] == num_unknown[spans.ends + 2])


def _cover(spans: Spans, num_tokens: int) -> np.ndarray:
    """The label of the span that each token lies in, (N,), -1 outside."""
    changes = np.zeros(num_tokens + 1, dtype=np.int64)
    changes[spans.starts] += spans.labels + 1
    changes[spans.ends + 1] -= spans.labels + 1
    return changes[:-1].cumsum() - 1


def _num_before(which: np.ndarray) -> np.ndarray:
    """How many there are before each position, (N + 1,)."""
    return np.concatenate(([0], np.cumsum(which)))


def _select(spans: Spans, which: np.ndarray) -> Spans:
    return Spans(*(column[which] for column in spans))


def _label_name(tag: str, encoding: Optional[str]) -> Optional[str]:
    """The label of a tag, None if it has none."""
    if encoding is None:
        return None if tag == "O" else tag
    spans = tags_to_spans([tag], encoding)
    return (spans[0][0] or "_") if spans else None


def _check_names(names: Set[str], known: Set[str]) -> None:
    for name in sorted(names - known):
        raise ValueError(
            f"`ignore_labels` names `{name}`, which is no label of this vocabulary "
            f"({', '.join(sorted(known))})"
            + (did_you_mean(name, sorted(known)) or "; leave it out")
        )
