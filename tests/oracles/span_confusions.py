"""Counts confusions of labels, one span at a time."""

from collections import Counter

from tagger.spans import tags_to_spans


def count_confusions(gold, predicted, encoding):
    """Returns a Counter of (gold label or error, predicted label or error) over lists of sentences.

    A span with or next to an unknown gold tag, `?`, does not count, but can still overlap others.
    """
    counts = Counter()
    for gold_tags, predicted_tags in zip(gold, predicted):
        sides = [
            tags_to_spans(["O" if tag == "?" else tag for tag in tags], encoding)
            for tags in (gold_tags, predicted_tags)
        ]

        def is_known(span, tags=gold_tags):
            start, end = span[1]
            return "?" not in tags[max(start - 1, 0) : end + 2]

        for spans, others, no_overlap in ((*sides, "missed"), (*sides[::-1], "spurious")):
            for label, bounds in filter(is_known, spans):
                same = [other for other, its_bounds in others if its_bounds == bounds]
                touched = {
                    other
                    for other, (start, end) in others
                    if start <= bounds[1] and bounds[0] <= end
                }
                error = "boundary" if label in touched else "both" if touched else no_overlap
                if no_overlap == "missed":
                    counts[label, same[0] if same else error] += 1
                elif not same:
                    counts[error, label] += 1
    return counts
