"""Errors as rows of the report on a training run: pure functions.

Counts are (S, 3, C): true positives, predicted and gold of each sentence.

Letters: `S` sentences or documents, `C` labels.
"""

import math
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.metrics.label_metrics import NO_LABEL
from tagger.spans.matching import ERRORS_OF_GOLD, ERRORS_OF_PREDICTED

#: The most labels in a table of confusions; above this, a list of errors is shown instead.
MAX_LABELS = 40
#: The number of errors in such a list, most frequent first.
MAX_ERRORS = 20
#: By name in tables of confusions: the name in examples, a description, and an example.
_KINDS = {
    "": ("wrong label", "First and last word are right, the label is not.", "→ ORG: New York"),
    "boundary": (
        "wrong boundary",
        "It overlaps an entity of its label on the other side, but begins or ends elsewhere.",
        "→ LOC: York",
    ),
    "both": (
        "wrong label and boundary",
        "It only overlaps entities of other labels, and begins or ends elsewhere.",
        "→ ORG: York",
    ),
    "missed": ("missed", "A gold {item} where nothing is predicted.", "→ nothing"),
    "spurious": ("spurious", "A predicted {item} where there is no gold one.", "nothing →"),
}


class Cell(NamedTuple):
    """A cell of a table of confusions."""

    number: int  # How often the row's gold label was predicted as the column's label
    # From 0 to 100, the square root of the share in percent. The share is of gold items in the rows of
    # labels, and of predicted items in the rows below.
    tint: int
    is_right: bool  # Whether row and column agree


class Confusions(NamedTuple):
    """Confusions as a table, or if there are many labels, as a list of the most frequent ones."""

    title: str  # What is counted
    columns: List[str]  # The names of the columns; empty if there is a list
    rows: List[Tuple[str, List[Cell]]]  # A name and the cells of each row
    errors: List[Tuple[str, str, int]]  # Gold, predicted and number, most frequent first


class Kind(NamedTuple):
    """A kind of error."""

    name: str  # The name in examples
    short: str  # The name in tables of confusions of entities
    meaning: str  # A description
    gold: Optional[int]  # The number of gold items with this error; None if it does not apply
    predicted: Optional[int]  # The number of predicted items, likewise
    example: str = ""  # A gold and a predicted entity that differ in this way


class Fate(NamedTuple):
    """What became of some of the gold items."""

    name: str
    share: float
    total: int
    style: str


def confusion_tables(confusions: Mapping[str, int], labels: Sequence[str]) -> List[Confusions]:
    """Returns the confusions of spans and of tokens, if there are any."""
    tables = []
    for title, prefix, other_rows, other_columns in (
        ("entities", "", ERRORS_OF_PREDICTED, ERRORS_OF_GOLD),
        ("tokens", "token-", (NO_LABEL,), (NO_LABEL,)),
    ):
        rows, columns = [*labels, *other_rows], [*labels, *other_columns]
        numbers = np.array(
            [[confusions.get(f"{prefix}confusion-{i}>{j}", 0) for j in columns] for i in rows]
        )
        if numbers.any() and len(labels) > MAX_LABELS:
            places = [(rows[i], columns[j], int(numbers[i, j])) for i, j in np.argwhere(numbers)]
            wrong = [each for each in places if each[0] != each[1]]
            wrong.sort(key=lambda each: -each[2])
            tables.append(Confusions(title, [], [], wrong[:MAX_ERRORS]))
        elif numbers.any():
            tables.append(_table(title, rows, columns, numbers, len(labels)))
    return tables


def together_table(together: np.ndarray, labels: Sequence[str], title: str) -> Optional[Confusions]:
    """Returns how often labels occur together, for the most frequent ones; None if no two ever do.

    Args:
        together: (C, C) int64, how many items have both labels.
        labels: The C labels.
        title: What the items are.
    """
    numbers = together.diagonal()
    shown = [c for c in np.argsort(-numbers, kind="stable")[:MAX_LABELS] if numbers[c]]
    if not (together - np.diag(numbers)).any():
        return None
    rows = [
        (
            labels[i],
            [
                Cell(int(together[i, j]), round(100 * math.sqrt(together[i, j] / numbers[i])), True)
                for j in shown
            ],
        )
        for i in shown
    ]
    return Confusions(title, [labels[j] for j in shown], rows, [])


def _table(
    title: str, rows: Sequence[str], columns: Sequence[str], numbers: np.ndarray, num_labels: int
) -> Confusions:
    of_rows, of_columns = numbers.sum(axis=1), numbers.sum(axis=0)
    # Labels that never occur are left out, but the kinds of errors are always kept.
    kept_rows, kept_columns = (
        [i for i, total in enumerate(of_side) if i >= num_labels or total]
        for of_side in (of_rows, of_columns)
    )
    shown = []
    for i in kept_rows:
        # Kinds of errors have no gold items to take a share of.
        is_error = i >= num_labels and rows[i] != NO_LABEL
        cells = []
        for j in kept_columns:
            share = numbers[i, j] / max(of_columns[j] if is_error else of_rows[i], 1)
            is_right = i == j and (i < num_labels or rows[i] == columns[j] == NO_LABEL)
            cells.append(Cell(int(numbers[i, j]), round(100 * math.sqrt(share)), is_right))
        shown.append((rows[i], cells))
    return Confusions(title, [columns[j] for j in kept_columns], shown, [])


def kinds_of_errors(
    kind: str, labels: Sequence[str], confusions: Mapping[str, int], counts: np.ndarray
) -> List[Kind]:
    """Returns the kinds of errors that this kind of model can make, with their frequencies."""
    right, predicted, gold = counts.sum(axis=(0, 2)).tolist()
    if kind in ("token labels", "documents"):
        item = "token" if kind == "token labels" else "document"
        missed = f"The {item} has the label, but it is not predicted."
        spurious = f"The label is predicted, but the {item} does not have it."
        return [
            Kind("missed", "missed", missed, gold - right, None),
            Kind("spurious", "spurious", spurious, None, predicted - right),
        ]
    are_tokens = kind == "tokens"
    prefix, item = ("token-", "token") if are_tokens else ("", "entity")
    numbers: Dict[str, List[Optional[int]]] = {}
    for short in (
        ("missed", "spurious") if are_tokens else ("boundary", "both", "missed", "spurious")
    ):
        name = NO_LABEL if are_tokens else short
        numbers[short] = [
            sum(confusions.get(f"{prefix}confusion-{i}>{j}", 0) for i, j in pairs)
            for pairs in ([(c, name) for c in labels], [(name, c) for c in labels])
        ]
    numbers["missed"][1] = numbers["spurious"][0] = None
    num_label = gold - right - sum(of_gold or 0 for of_gold, _ in numbers.values())
    kinds = []
    for short, (of_gold, of_predicted) in {"": [num_label, num_label], **numbers}.items():
        name, meaning, example = _KINDS[short]
        example = f"{example} LOC: New York" if short == "spurious" else f"LOC: New York {example}"
        if are_tokens and not short:
            meaning = "The token has a label, but a different one."
        meaning = meaning.format(item=item)
        kinds.append(Kind(name, short, meaning, of_gold, of_predicted, example))
    return kinds


def fates(counts: np.ndarray, kinds: Sequence[Kind]) -> List[Fate]:
    """Returns what became of the gold items; the numbers add up to all of them. Empty without any."""
    right, _, total = counts.sum(axis=(0, 2)).tolist()
    if not total:
        return []
    wrong = [(kind.name, kind.gold) for kind in kinds if kind.gold is not None]
    return [
        Fate(name, number / total, total, name.replace(" ", "-"))
        for name, number in [("right", right), *wrong]
    ]
