"""Readable tables of the numbers that AllenNLP writes to files of metrics."""

import json
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Sequence

from tagger.metrics.label_metrics import MEASURES, NO_LABEL
from tagger.metrics.masking_metrics import MASKING_METRICS, REPEATS
from tagger.spans.matching import ERRORS_OF_GOLD, ERRORS_OF_PREDICTED, SCHEMES
from tagger_texts.display import aligned

AVERAGES = ("overall", "macro")
#: Groups of labels: by their number of training items, and those that are never found.
GROUPS = ("head", "medium", "tail", "zero")
BEST_PREFIX = "best_validation_"
_COUNTS = ("num-predicted", "num-gold")
#: A measure is undefined if all of these are 0.
_DENOMINATORS = dict(zip(MEASURES, (_COUNTS[:1], _COUNTS[1:], _COUNTS)))
#: If a table of confusions is wider than this, in characters, a list of errors replaces it.
MAX_WIDTH = 100
#: The number of kinds of errors in such a list, which has the most frequent ones.
MAX_ERRORS = 20


def best_metrics(metrics: Mapping[str, float]) -> Dict[str, float]:
    """Returns the metrics of a training run's best epoch on the validation data.

    Example:
        >>> best_metrics({"epoch": 3, "validation_loss": 2.5, "best_validation_loss": 1.5})
        {'loss': 1.5}
    """
    return {
        name[len(BEST_PREFIX) :]: value
        for name, value in metrics.items()
        if name.startswith(BEST_PREFIX)
    }


def format_metrics(metrics: Mapping[str, float]) -> str:
    """Returns tables of metrics by label, and of the confusions of labels.

    The first table is of spans, or of items that may have several labels. The second has the averages
    over tokens. For plain labels there is instead a table of tokens by label. The tables of confusions
    follow: a row for each gold label and a column for each predicted one, or, if that gets too wide, a
    list of the most frequent errors. Then come the F1 by the four schemes of partial matching and, of an
    evaluation from text, what masks would hide. Other metrics are not shown.

    A dash stands for an undefined number: the precision of a label that is never predicted, the recall
    of one that is never gold, the F1 of one that is neither, and the mean of such numbers only.
    """
    return _as_text(metrics_tables(metrics))


def format_all_metrics(metrics: Mapping[str, Any]) -> str:
    """Returns the tables of `format_metrics`, and other numbers for models of other packages."""
    tables = metrics_tables(metrics)
    if f"num-gold-{AVERAGES[0]}" not in metrics:
        shown = {f"{each}-{name}" for name in measured_names(metrics, "") for each in MEASURES}
        others = [
            [name, str(value) if isinstance(value, int) else f"{value:.4f}"]
            for name, value in metrics.items()
            if name not in shown and isinstance(value, (int, float))
        ]
        tables += [others] if others else []
    return _as_text(tables)


def format_metrics_file(path: Path) -> str:
    """Returns the tables of the metrics that `allennlp evaluate --output-file` has written.

    For a training run's folder, or its `metrics.json`, they are those of its best epoch.

    Raises:
        ValueError: If there is no such file, or it is not a JSON object that holds numbers.
    """
    if path.is_dir():
        path = path / "metrics.json"
        if not path.is_file():
            raise ValueError(
                f"{path.parent} has no metrics.json, which training writes at its end; name the folder "
                f"of a finished run, or a file of metrics"
            )
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        metrics = None
    if not isinstance(metrics, dict):
        raise ValueError(f"{path} is no JSON object; name a `metrics.json`")
    table = format_all_metrics(best_metrics(metrics) or metrics)
    if not table:
        raise ValueError(
            f"{path} holds no metrics, but {', '.join(metrics) or 'nothing'}; name what training or "
            "`evaluate` has written"
        )
    return table


def metrics_tables(metrics: Mapping[str, float]) -> List[List[List[str]]]:
    """Returns the tables of `format_metrics` as rows of cells. The first row is the header."""
    names, token_names = measured_names(metrics, ""), measured_names(metrics, "token-")
    character_names = [name for name in measured_names(metrics, "character-") if name in AVERAGES]
    labels = [name for name in names or token_names if name not in AVERAGES]
    averages = [name for name in token_names if name in AVERAGES]
    classes = [*labels, NO_LABEL]
    tables = [
        _label_table(metrics, "", names, title="spans" if token_names or character_names else ""),
        _label_table(metrics, "token-", averages if names else token_names, title="tokens"),
        _label_table(metrics, "segment-", measured_names(metrics, "segment-"), title="segments"),
        _label_table(metrics, "character-", character_names, title="characters"),
        numbers_of_labels_table(metrics, "" if names else "token-"),
        by_number_table(metrics),
        _confusion_table(
            metrics, "", [*labels, *ERRORS_OF_PREDICTED], [*labels, *ERRORS_OF_GOLD], what="spans"
        ),
        _confusion_table(metrics, "token-", classes, classes, what="tokens"),
        _scheme_table(metrics, measured_names(metrics, f"{SCHEMES[-1]}-")),
        masking_table(metrics),
    ]
    return [rows for rows in tables if len(rows) > 1]


def measured_names(metrics: Mapping[str, float], prefix: str) -> List[str]:
    """Returns the labels and averages that have metrics, in order."""
    stem = f"{prefix}{MEASURES[0]}-"
    return [name[len(stem) :] for name in metrics if name.startswith(stem)]


def _label_table(
    metrics: Mapping[str, float], prefix: str, names: Sequence[str], title: str
) -> List[List[str]]:
    return [
        [title, "precision", "recall", "F1", "gold"],
        *(
            [
                name,
                *(_number(metrics, prefix, measure, name) for measure in MEASURES),
                str(metrics.get(f"{prefix}num-gold-{name}", "")),
            ]
            for name in names
        ),
    ]


def _scheme_table(metrics: Mapping[str, float], names: Sequence[str]) -> List[List[str]]:
    """Returns the F1 by each scheme of partial matching; the strict one is that of spans."""
    prefixes = ["" if scheme == "strict" else f"{scheme}-" for scheme in SCHEMES]
    return [
        ["spans: F1 by scheme", *SCHEMES],
        *(
            [name, *(_number(metrics, prefix, MEASURES[-1], name) for prefix in prefixes)]
            for name in names
        ),
    ]


def numbers_of_labels_table(metrics: Mapping[str, float], level: str) -> List[List[str]]:
    """Returns how many labels are gold somewhere and found, for spans or, after `token-`, for tokens."""
    ends = {"all": "", **{group: f"-{group}" for group in GROUPS}}
    counts = [f"{level}num-labels", f"{level}num-labels-found"]
    return [
        ["labels", "gold somewhere", "found (F1 > 0)"],
        *(
            [title, *(str(metrics[f"{count}{end}"]) for count in counts)]
            for title, end in ends.items()
            if f"{counts[0]}{end}" in metrics
        ),
    ]


def by_number_table(metrics: Mapping[str, float]) -> List[List[str]]:
    """Returns the metrics by the number of gold labels of a token or document, or the header alone."""
    prefix = "by-number-"
    return [
        ["gold labels of an item", "items", "precision", "recall", "F1"],
        *(
            [
                number,
                str(metrics[f"{prefix}num-items-{number}"]),
                *(_number(metrics, prefix, measure, number) for measure in MEASURES),
            ]
            for number in measured_names(metrics, prefix)
        ),
    ]


def masking_table(metrics: Mapping[str, float]) -> List[List[str]]:
    """Returns the table of `masking_metrics`, or its header alone."""
    return [
        ["masks, whatever their labels", "as found", "with repeats"],
        *(
            [title, *(f"{metrics[f'{prefix}{name}']:.4f}" for prefix in ("", REPEATS))]
            for name, title in MASKING_METRICS.items()
            if name in metrics
        ),
    ]


def _number(metrics: Mapping[str, float], prefix: str, measure: str, name: str) -> str:
    """Returns a measure as text; a dash if the counts say that it is undefined."""
    counted = "overall" if name == "macro" else name
    # Schemes of partial matching count the same spans.
    level = prefix if prefix in ("token-", "segment-", "character-", "by-number-") else ""
    counts = [metrics.get(f"{level}{count}-{counted}") for count in _DENOMINATORS[measure]]
    # The metrics of AllenNLP's taggers have no counts.
    is_undefined = all(count == 0 for count in counts)
    return "-" if is_undefined else f"{metrics[f'{prefix}{measure}-{name}']:.4f}"


def _confusion_table(
    metrics: Mapping[str, float], prefix: str, rows: List[str], columns: List[str], what: str
) -> List[List[str]]:
    """Returns the table, or the most frequent errors; no row if there are no confusions."""
    numbers = {
        (row, column): int(metrics.get(f"{prefix}confusion-{row}>{column}", 0))
        for row in rows
        for column in columns
    }
    if not any(numbers.values()):
        return []
    table = [
        [f"{what}: gold > predicted", *columns],
        *([row, *(str(numbers[row, column] or ".") for column in columns)] for row in rows),
    ]
    if len(aligned(table)[0]) <= MAX_WIDTH:
        return table
    errors = [(cell, n) for cell, n in numbers.items() if n and cell[0] != cell[1]]
    errors.sort(key=lambda error: -error[1])
    return [
        [f"{what}: gold", "predicted", "number"],
        *([*cell, str(number)] for cell, number in errors[:MAX_ERRORS]),
    ]


def _as_text(tables: Iterable[Sequence[Sequence[str]]]) -> str:
    return "\n\n".join("\n".join(aligned(rows)) for rows in tables)
