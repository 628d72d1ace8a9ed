"""The labels of a whole document or recording, as files spell them; some may be unknown."""

from typing import Any, FrozenSet, List, NamedTuple, Optional

#: In place of the labels of a document that has none, such as a new one to predict.
NO_LABELS: Any = object()
#: What stands for an unknown label, besides a reader's `unknown_tag`.
_UNKNOWN = (None, -1)


class DocumentLabels(NamedTuple):
    """The labels of a document, see `DocumentLabelsField`."""

    present: List[str]
    unknown: FrozenSet[str] = frozenset()
    absent: Optional[FrozenSet[str]] = None


def parsed_labels(value: Any, unknown_tag: Optional[str] = None) -> DocumentLabels:
    """Returns the labels that a list, an object, or a sign for all unknown spells.

    Raises:
        ValueError: If it is none of these, or a label is both known and unknown.

    Example:
        >>> parsed_labels(["A", "?B"], "?")
        DocumentLabels(present=['A'], unknown=frozenset({'B'}), absent=None)
        >>> parsed_labels({"A": 1, "B": 0, "C": None})
        DocumentLabels(present=['A'], unknown=frozenset(), absent=frozenset({'B'}))
    """
    if _is_unknown(value, unknown_tag) or value == [unknown_tag]:
        return DocumentLabels([], absent=frozenset())
    if isinstance(value, dict):
        known = {
            label: target for label, target in value.items() if not _is_unknown(target, unknown_tag)
        }
        for label, target in known.items():
            if target not in (0, 1):
                raise ValueError(
                    f"expected 1, 0, or -1 for unknown for the label {label!r}; got {target!r}"
                )
        present = [label for label, target in known.items() if target]
        return DocumentLabels(present, absent=frozenset(known.keys() - set(present)))
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        sign = "" if unknown_tag is None else f"{unknown_tag!r}, "
        raise ValueError(
            f"expected labels: a list of strings, an object with 1 or 0 by label, or {sign}null or -1 "
            f"if all are unknown; got {value!r}"
        )
    prefix = unknown_tag or ""
    unknown = {
        label[len(prefix) :] for label in value if unknown_tag and label.startswith(unknown_tag)
    }
    present = [label for label in value if not (unknown_tag and label.startswith(unknown_tag))]
    if "" in unknown or "" in present:
        raise ValueError(f"expected labels, or {unknown_tag!r} alone; got {value!r}")
    for label in sorted(unknown & set(present)):
        raise ValueError(
            f"the label {label!r} is both known and unknown in {value!r}; leave one out"
        )
    return DocumentLabels(present, frozenset(unknown))


def _is_unknown(value: Any, unknown_tag: Optional[str]) -> bool:
    return not isinstance(value, bool) and (
        value in _UNKNOWN or (unknown_tag is not None and value == unknown_tag)
    )
