"""Counts of tokens by gold and by predicted label: a pure function on arrays."""

import numpy as np

from tagger.spans.finding import UNKNOWN, TagTables

#: The class of a token without a label. It comes after the labels.
NO_LABEL = "O"


def count_token_confusions(
    tables: TagTables, predicted_tags: np.ndarray, gold_tags: np.ndarray
) -> np.ndarray:
    """Counts tokens by the labels of their tags, whatever the prefixes.

    Tokens with an unknown gold tag do not count.

    Args:
        tables: Of the K tags and C labels.
        predicted_tags: (N,) int, tag indices, K where there is no token.
        gold_tags: (N,) int, tag indices, `UNKNOWN` where the tag is unknown, K where there is no token.

    Returns:
        (C + 1, C + 1) int64, a row for each gold label and a column for each predicted one, `NO_LABEL`
        last.
    """
    num_classes = len(tables.labels) + 1
    is_known = (gold_tags != UNKNOWN) & (gold_tags < len(tables.label_of) - 1)
    # Tags without a label have -1 in the table, which becomes the last class.
    rows, columns = (
        tables.label_of[tags[is_known]] % num_classes for tags in (gold_tags, predicted_tags)
    )
    cells = np.bincount(rows * num_classes + columns, minlength=num_classes**2)
    return cells.reshape(num_classes, num_classes)
