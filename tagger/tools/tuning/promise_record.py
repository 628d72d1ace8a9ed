"""Promises as stored in an archive."""

import json
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

from allennlp.common.checks import ConfigurationError

from tagger.common.ranges import is_number
from tagger.common.vocabulary import check_is_label
from tagger.tools.tuning.goals import OF_MASKS, OF_SEVERAL, PROMISED, Goal
from tagger.tools.tuning.groups import spell_groups
from tagger_compat.archive_guard import printable
from tagger_compat.tar_files import read_member

#: The name of the file in an archive with the promises of `tune-decoding --confidence`.
PROMISES_NAME = "promises.json"


class Promise(NamedTuple):
    """A claim about the distribution of data, valid if their groups are drawn from it independently."""

    goal: Goal  # What is promised
    confidence: float  # The confidence that all promises of one command hold together
    unit: str  # The unit that is drawn: see `Groups.kind`
    num_units: int  # How many groups the data had
    num_right: float  # The numerator of the share in the data: see `Goal.counts`
    num_total: float  # The denominator
    data: str  # The name of the file
    sha256: str  # The digest of the file
    date: str  # The date of the command, as in `2026-01-31`
    # The number of new groups that the promise is about; None for the whole distribution.
    for_next: Optional[int] = None
    # For masks, the probability above which tokens are masked too: see `Masking`.
    mask_threshold: Optional[float] = None
    # The test behind the promise.
    method: str = (
        "Learn then Test, fallback procedure; binomial tail, and Hall's t-test where items cluster"
    )

    def __str__(self) -> str:
        new = f" in the next {spell_groups(self.for_next, self.unit)}" if self.for_next else ""
        groups = spell_groups(self.num_units, self.unit)
        counted = f"{self.num_right:g} of {self.num_total:g} in {groups} of {self.data}"
        masks = ""
        if self.mask_threshold is not None:
            masks = f" where tokens above {self.mask_threshold:g} are masked, too"
        return f"{self.goal}{masks}{new}, with {100 * self.confidence:g} % confidence ({counted})"


def saved_promises(archive_file: Union[str, Path]) -> List[Promise]:
    """Returns the promises in an archive; empty if it has none."""
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
    """Whether values have the right types and ranges and contain no terminal control sequences."""
    goal = promise.goal
    texts = (*goal.labels, promise.unit, promise.data, promise.sha256, promise.date, promise.method)
    counts = (promise.num_units, 1 if promise.for_next is None else promise.for_next)
    shares = (goal.level, promise.confidence)
    return (
        len(goal.labels) > 0
        and all(isinstance(each, str) and printable(each) == each for each in texts)
        and all(type(each) is int and each > 0 for each in counts)
        and all(type(each) is float and 0 < each < 1 for each in shares)
        and goal.measure in PROMISED
        and (goal.measure in OF_SEVERAL or len(goal.labels) == 1)
        and all(is_number(each, 0) for each in (promise.num_right, promise.num_total, goal.beta))
        and goal.beta > 0
        and (promise.mask_threshold is not None) == (goal.measure in OF_MASKS)
        and (promise.mask_threshold is None or is_number(promise.mask_threshold, 0))
    )


def check_labels(promises: Sequence[Promise], labels: Sequence[str]) -> None:
    """Raises an error for promises about labels that the tagger does not know."""
    for promise in promises:
        for label in promise.goal.labels:
            check_is_label(PROMISES_NAME, label, labels, of="model")


def promises_to_json(promises: Sequence[Promise]) -> str:
    """Formats promises for `saved_promises`."""
    records = [{**each._asdict(), "goal": each.goal._asdict()} for each in promises]
    return json.dumps(records, indent=2)
