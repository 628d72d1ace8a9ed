"""Promises as an archive keeps them."""

import json
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from allennlp.common.checks import ConfigurationError

from tagger.common.ranges import is_number
from tagger.common.vocabulary import check_is_label
from tagger.tools.tuning.units import spell_units
from tagger_compat.archive_guard import printable
from tagger_compat.tar_files import read_member

#: The file in an archive that holds the promises of `tune-decoding --confidence`.
PROMISES_NAME = "promises.json"


class Goal(NamedTuple):
    """A share to promise.

    Attributes:
        labels: One label; several for a leak.
        measure: `"precision"`, `"recall"`, `"f_beta"`, or `"leak"`: the share of units in which the
            prediction misses an entity of the labels.
        level: The least precision, recall or F; the largest share of units that leak.
        beta: How many times as much recall counts as precision in an F.
    """

    labels: Tuple[str, ...]
    measure: str
    level: float
    beta: float = 1.0

    @property
    def least(self) -> float:
        """The least share of what is right: of units that do not leak for a leak."""
        return 1 - self.level if self.measure == "leak" else self.level

    def at_least(self, least: float) -> "Goal":
        """Returns this goal with another `least`."""
        return self._replace(level=1 - least if self.measure == "leak" else least)

    def counts(self, by_unit: np.ndarray, labels: Sequence[str]) -> Tuple[np.ndarray, np.ndarray]:
        """Returns what is right and what there is in each unit, (U,) each.

        An F is such a share too: `(1 + beta^2) right / (predicted + beta^2 gold)`.

        Args:
            by_unit: (3, C, U), true positives, predicted and gold entities.
            labels: All C labels.
        """
        right, predicted, gold = by_unit[:, [labels.index(label) for label in self.labels]]
        if self.measure == "leak":
            return (right == gold).all(0), np.ones(right.shape[1])
        weight = self.beta**2
        total = {
            "precision": predicted,
            "recall": gold,
            "f_beta": predicted + weight * gold,
        }[self.measure]
        return (right * (1 + weight) if self.measure == "f_beta" else right)[0], total[0]

    def __str__(self) -> str:
        labels = ", ".join(self.labels)
        if self.measure == "leak":
            return f"a share of at most {self.level:g} that misses any {labels}"
        name = f"F{self.beta:g}" if self.measure == "f_beta" else self.measure
        return f"{name} of {labels} at least {self.level:g}"


class Promise(NamedTuple):
    """What holds for the distribution of the data, if their units are drawn independently from it.

    Attributes:
        goal: What is promised.
        confidence: That all promises of one command hold together.
        unit: What is drawn: see `Units`.
        num_units: How many the data had.
        num_right: What is right in the data: entities, or units without a leak.
        num_total: Of how many: predicted entities for a precision, gold ones for a recall, units for a
            leak.
        data: The name of the file.
        sha256: Of the file's bytes.
        date: Of the command, as in `2026-01-31`.
        for_next: The promise is about so many new units; None for all that there are.
        method: How the promise was tested.
    """

    goal: Goal
    confidence: float
    unit: str
    num_units: int
    num_right: float
    num_total: float
    data: str
    sha256: str
    date: str
    for_next: Optional[int] = None
    method: str = (
        "Learn then Test, fallback procedure; binomial tail, and Hall's t-test where items cluster"
    )

    def __str__(self) -> str:
        units = spell_units(self.num_units, self.unit)
        new = (
            "" if self.for_next is None else f" in the next {spell_units(self.for_next, self.unit)}"
        )
        counted = f"{self.num_right:g} of {self.num_total:g} in {units} of {self.data}"
        return f"{self.goal}{new}, with {100 * self.confidence:g} % confidence ({counted})"


def saved_promises(archive_file: Union[str, Path]) -> List[Promise]:
    """Returns the promises that an archive holds, none if it was never given any.

    Raises:
        ConfigurationError: If they are not as `tune-decoding --confidence` writes them.
    """
    if Path(archive_file).is_dir():
        return []
    content = read_member(archive_file, PROMISES_NAME)
    if content is None:
        return []
    try:
        promises = [_promise(each) for each in json.loads(content)]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        promises = []
    if not promises or not all(map(_is_valid, promises)):
        raise ConfigurationError(
            f"{archive_file}: `{PROMISES_NAME}` must hold what `tune-decoding --confidence` writes; "
            f"tune the tagger again"
        )
    return promises


def _promise(record: Dict[str, Any]) -> Promise:
    goal = Goal(**record["goal"])
    return Promise(**{**record, "goal": goal._replace(labels=tuple(goal.labels))})


def _is_valid(promise: Promise) -> bool:
    """Whether values have their types and ranges, and a terminal obeys none of them."""
    goal = promise.goal
    texts = (*goal.labels, promise.unit, promise.data, promise.sha256, promise.date, promise.method)
    counts = (promise.num_units, 1 if promise.for_next is None else promise.for_next)
    shares = (goal.level, promise.confidence)
    return (
        len(goal.labels) > 0
        and all(isinstance(each, str) and printable(each) == each for each in texts)
        and all(type(each) is int and each > 0 for each in counts)
        and all(type(each) is float and 0 < each < 1 for each in shares)
        and goal.measure in ("precision", "recall", "f_beta", "leak")
        and (goal.measure == "leak" or len(goal.labels) == 1)
        and all(is_number(each, 0) for each in (*promise[4:6], goal.beta))
        and goal.beta > 0
    )


def check_labels(promises: Sequence[Promise], labels: Sequence[str]) -> None:
    """Refuses promises about labels that a tagger does not know.

    Raises:
        ConfigurationError: If there are such.
    """
    for promise in promises:
        for label in promise.goal.labels:
            check_is_label(PROMISES_NAME, label, labels, of="model")


def promises_to_json(promises: Sequence[Promise]) -> str:
    """Returns what `saved_promises` reads."""
    records = [{**each._asdict(), "goal": each.goal._asdict()} for each in promises]
    return json.dumps(records, indent=2)
