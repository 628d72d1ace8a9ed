"""Counts of right, predicted and gold spans, and the scores made of them: pure functions on arrays.

Letters: `B` sentences, `T` tokens, `K` tags, `C` labels, `S` spans, `N` tokens laid end to end.

Counts are int64 arrays (3, C): for each label the spans that are predicted and gold alike (true
positives), the predicted ones and the gold ones. They add up over batches and over workers.
"""

from itertools import product
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

import numpy as np

from tagger.did_you_mean import did_you_mean
from tagger.label_encoding import allowed_transitions, tags_to_spans

#: The gold index of a token whose tag is not known.
UNKNOWN = -1


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
    encoding: str,
    strict: bool = False,
    ignore_labels: Optional[Sequence[str]] = None,
) -> TagTables:
    """Tabulates what `tagger.label_encoding` says of each tag and of each two in a row.

    Args:
        tags: The tag of each index 0 ... K - 1. Tags without a label have the label `_`, as in seqeval.
        encoding: One of `tagger.label_encoding.ENCODINGS`.
        strict: Whether a span counts only if its tags are legal from its first token to its last.
        ignore_labels: Labels whose spans never count.

    Raises:
        ValueError: If a tag is not one of this encoding, `ignore_labels` names no label of these tags,
            or `strict` is asked of IOB1.
    """
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
        if label_of[i] == label_of[j] >= 0:
            continues[i, j] = len(tags_to_spans([tags[i], tags[j]], encoding)) == 1

    opens, closes = np.ones((2, num_tags + 1), dtype=bool)
    if strict:
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


def count_spans(
    tables: TagTables, predicted: np.ndarray, gold: np.ndarray, mask: np.ndarray
) -> np.ndarray:
    """Counts true positives, predicted and gold spans by label.

    A span, predicted or gold, counts neither way if it holds a token of unknown gold tag or lies
    right beside one. So whether a span counts depends on where it lies and never on whether it is
    right: tags hidden at random favour neither right spans nor wrong ones, but shorter ones.

    Args:
        tables: Of the K tags.
        predicted: (B, T) int, tag indices.
        gold: (B, T) int, tag indices, `UNKNOWN` where the tag is not known.
        mask: (B, T) bool, which tokens are real; the others may hold anything.

    Returns:
        (3, C) int64, see the head of this module.
    """
    outside = len(tables.label_of) - 1
    flat_gold = _lay_end_to_end(gold, mask, outside)
    # (N + 1,), how many unknown tokens there are before each position
    num_unknown = np.concatenate(([0], np.cumsum(flat_gold == UNKNOWN)))

    def known_spans(flat_tags: np.ndarray) -> Spans:
        spans = find_spans(tables, flat_tags)
        # A border lies on either side of every span, so these positions exist.
        return _select(spans, num_unknown[spans.starts - 1] == num_unknown[spans.ends + 2])

    gold_spans = known_spans(flat_gold)
    predicted_spans = known_spans(_lay_end_to_end(predicted, mask, outside))
    _, i, j = np.intersect1d(
        gold_spans.starts, predicted_spans.starts, assume_unique=True, return_indices=True
    )
    is_right = (gold_spans.ends[i] == predicted_spans.ends[j]) & (
        gold_spans.labels[i] == predicted_spans.labels[j]
    )
    counted = (gold_spans.labels[i][is_right], predicted_spans.labels, gold_spans.labels)
    return np.stack([np.bincount(labels, minlength=len(tables.labels)) for labels in counted])


def precision_recall_f1(counts: np.ndarray) -> np.ndarray:
    """Returns precision, recall and F1, 0 where they are undefined.

    Args:
        counts: (3, ...) true positives, predicted and gold spans.

    Returns:
        (3, ...) float64.

    Example:
        >>> precision_recall_f1(np.array([[3, 0], [4, 0], [6, 2]])).tolist()
        [[0.75, 0.0], [0.5, 0.0], [0.6, 0.0]]
    """
    true_positives, num_predicted, num_gold = counts
    return np.stack(
        [
            _divide(true_positives, num_predicted),
            _divide(true_positives, num_gold),
            _divide(2 * true_positives, num_predicted + num_gold),
        ]
    )


def scores_by_label(labels: Sequence[str], counts: np.ndarray) -> Dict[str, List[float]]:
    """Returns precision, recall and F1 of each label, and their averages.

    Args:
        labels: The C labels.
        counts: (3, C) int64, see the head of this module.

    Returns:
        For each label; then for `overall`, of all spans together (micro average); then for `macro`,
        the mean over the labels that have a gold or a predicted span, as in seqeval, or 0 if none
        has. A label of one of these two names gives way to the average.
    """
    # (3, C)
    scores = precision_recall_f1(counts)
    occurs = counts.any(axis=0)
    macro = scores[:, occurs].mean(axis=1) if occurs.any() else np.zeros(3)
    overall = precision_recall_f1(counts.sum(axis=1))
    by_label = dict(zip(labels, scores.T.tolist()))
    return {**by_label, "overall": overall.tolist(), "macro": macro.tolist()}


def _lay_end_to_end(tags: np.ndarray, mask: np.ndarray, outside: int) -> np.ndarray:
    """Returns the rows in one, (N,), a border of `outside` on both sides of each."""
    # (B, T + 2)
    bordered = np.full((tags.shape[0], tags.shape[1] + 2), outside)
    np.copyto(bordered[:, 1:-1], tags, where=mask)
    return bordered.ravel()


def _select(spans: Spans, which: np.ndarray) -> Spans:
    return Spans(*(column[which] for column in spans))


def _label_name(tag: str, encoding: str) -> Optional[str]:
    """The label of a tag, None outside spans."""
    spans = tags_to_spans([tag], encoding)
    return (spans[0][0] or "_") if spans else None


def _check_names(names: Set[str], known: Set[str]) -> None:
    for name in sorted(names - known):
        raise ValueError(
            f"`ignore_labels` names `{name}`, which is no label of this vocabulary "
            f"({', '.join(sorted(known))})"
            + (did_you_mean(name, sorted(known)) or "; leave it out")
        )


def _divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    quotient = np.zeros(np.shape(denominator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)
