"""Counts of tokens by gold and predicted label: a pure function on arrays."""

import numpy as np

from tagger.metrics.span_counts import UNKNOWN, TagTables

#: The class of a token without a label, after the labels.
NO_LABEL = "O"


def count_tokens(tables: TagTables, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Counts tokens by the labels of their tags, whatever the prefixes; unknown gold is left out.

    Args:
        tables: Of the K tags and C labels.
        predicted: (N,) int, tag indices, K where there is no token.
        gold: (N,) int, tag indices, `UNKNOWN` where the tag is not known, K where there is no token.

    Returns:
        (C + 1, C + 1) int64, a row for each gold label and a column for each predicted one, `NO_LABEL`
        last.
    """
    num_classes = len(tables.labels) + 1
    is_known = (gold != UNKNOWN) & (gold < len(tables.label_of) - 1)
    # No label is -1 in the table, and so the last class.
    rows, columns = (tables.label_of[tags[is_known]] % num_classes for tags in (gold, predicted))
    cells = np.bincount(rows * num_classes + columns, minlength=num_classes**2)
    return cells.reshape(num_classes, num_classes)
