"""Scores as tables to read, made of the numbers that AllenNLP writes to files of metrics."""

from typing import Dict, List, Mapping, Sequence

from tagger.metrics.label_scores import MEASURES
from tagger.metrics.span_counts import GOLD_FATES, PREDICTED_FATES
from tagger.metrics.token_counts import NO_LABEL

AVERAGES = ("overall", "macro")
BEST_PREFIX = "best_validation_"
#: A table of confusions wider than this, in characters, gives way to ...
MAX_WIDTH = 100
#: ... a list of this many kinds of errors.
MAX_ERRORS = 20


def best_scores(metrics: Mapping[str, float]) -> Dict[str, float]:
    """Returns a training run's scores on the validation data in its best epoch.

    Example:
        >>> best_scores({"epoch": 3, "validation_loss": 2.5, "best_validation_loss": 1.5})
        {'loss': 1.5}
    """
    return {
        name[len(BEST_PREFIX) :]: value
        for name, value in metrics.items()
        if name.startswith(BEST_PREFIX)
    }


def format_scores(scores: Mapping[str, float]) -> str:
    """Returns tables of scores by label, and of what was taken for what.

    First come spans, or whatever else has labels, then the averages over tokens; where tags spell no
    spans, tokens by label. Then confusions: a row for each gold label, a column for each predicted
    one, or the most frequent errors where there are too many labels for that.

    Args:
        scores: As from `TagScores`, with or without its confusions, or from `MultiLabelScores`. Others
            are not shown; what is missing is left out.

    Example:
        >>> scores = {"precision-LOC": 0.75, "recall-LOC": 0.5, "f1-measure-LOC": 0.6}
        >>> print(format_scores({**scores, "num-gold-LOC": 6, "confusion-LOC>LOC": 3}))
             precision  recall      F1  gold
        LOC     0.7500  0.5000  0.6000     6
        <BLANKLINE>
        spans: gold > predicted  LOC  boundary  both  missed
        LOC                        3         .     .       .
        boundary                   .         .     .       .
        both                       .         .     .       .
        spurious                   .         .     .       .
    """
    return "\n\n".join(_align(rows) for rows in score_tables(scores))


def score_tables(scores: Mapping[str, float]) -> List[List[List[str]]]:
    """Returns the tables of `format_scores` as rows of cells, the first row being the header."""
    names, token_names = _names(scores, ""), _names(scores, "token-")
    labels = [name for name in names or token_names if name not in AVERAGES]
    averages = [name for name in token_names if name in AVERAGES]
    classes = [*labels, NO_LABEL]
    tables = [
        _score_table(scores, "", names, title="spans" if token_names else ""),
        _score_table(scores, "token-", averages if names else token_names, title="tokens"),
        _confusion_table(
            scores, "", [*labels, *PREDICTED_FATES], [*labels, *GOLD_FATES], what="spans"
        ),
        _confusion_table(scores, "token-", classes, classes, what="tokens"),
    ]
    return [rows for rows in tables if len(rows) > 1]


def _names(scores: Mapping[str, float], prefix: str) -> List[str]:
    stem = f"{prefix}{MEASURES[0]}-"
    return [name[len(stem) :] for name in scores if name.startswith(stem)]


def _score_table(
    scores: Mapping[str, float], prefix: str, names: Sequence[str], title: str
) -> List[List[str]]:
    return [
        [title, "precision", "recall", "F1", "gold"],
        *(
            [
                name,
                *(f"{scores[f'{prefix}{measure}-{name}']:.4f}" for measure in MEASURES),
                str(scores.get(f"{prefix}num-gold-{name}", "")),
            ]
            for name in names
        ),
    ]


def _confusion_table(
    scores: Mapping[str, float], prefix: str, rows: List[str], columns: List[str], what: str
) -> List[List[str]]:
    """The table, or the most frequent errors, or nothing if there is nothing to show."""
    numbers = {
        (row, column): int(scores.get(f"{prefix}confusion-{row}>{column}", 0))
        for row in rows
        for column in columns
    }
    if not any(numbers.values()):
        return []
    table = [
        [f"{what}: gold > predicted", *columns],
        *([row, *(str(numbers[row, column] or ".") for column in columns)] for row in rows),
    ]
    if len(_align(table).splitlines()[0]) <= MAX_WIDTH:
        return table
    errors = [(n, *cell) for cell, n in numbers.items() if n and cell[0] != cell[1]]
    errors.sort(key=lambda error: -error[0])
    return [
        [f"{what}: gold", "predicted", "number"],
        *([row, column, str(number)] for number, row, column in errors[:MAX_ERRORS]),
    ]


def _align(rows: Sequence[Sequence[str]]) -> str:
    """Returns lines with the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(
            [first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(others, widths[1:]))]
        ).rstrip()
        for first, *others in rows
    )
