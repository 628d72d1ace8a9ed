"""Recognises texts that have labels as a whole, and reads them."""

import re
from collections import Counter
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from tagger.common.console import topics
from tagger.common.outputs import json_line
from tagger.data.dataset_readers.document_labels import parsed_labels
from tagger.data.formats import recognise
from tagger.data.formats.record_keys import is_entity
from tagger.data.shown import WEIGHT, hint_of
from tagger.tools.start.config import listed, listed_counts, rare_labels
from tagger.tools.start.label_columns import (
    UNKNOWN,
    Labels,
    are_flags,
    are_numbers,
    are_words,
    flag,
    labels_of,
    minus_is_label,
    spelled,
)
from tagger.tools.start.records import LABELS, TEXT, BrokenTableError, records_of
from tagger_texts.segments import num_words

_NAMES = re.compile(
    r"(gold[_ ])?(labels?|classe?s?|categor(y|ies)|cats?|topics?|tags?|targets?|intents?|sentiments?|"
    r"emotions?|ratings?|stars?|y)",
    re.I,
)
#: Formats that are told by their names of keys or columns alone; None is another file.
_FORMATS = (None, "csv", "doccano", "huggingface", "columns")
#: How many lines show that a file holds something else.
_NUM_LINES = 400
#: A text has more words than this on average; and as many texts, of all, are written once.
_FEW_WORDS, _DISTINCT = 2.5, 0.5
#: The share from which on something is the rule in a column.
_SHARE = 0.5
#: The share of texts with an entity in them, in a column of entities.
_NEARLY_ALL = 0.9
#: The most characters of a text that are shown.
_MOST_SHOWN = 60


class LabelledTexts(NamedTuple):
    """What a file holds: texts and their labels.

    Attributes:
        used: The keys or columns of the texts, and those of the labels.
        unused: The other ones.
        is_single: Whether each text with a known label has just one.
    """

    path: Path
    texts: List[str]
    labels: List[Labels]
    used: Tuple[List[str], List[str]]
    unused: List[str]
    others: List[Dict[str, Any]]
    is_single: bool

    def written(self) -> List[str]:
        """Returns each text with its labels, and all else of its row, for the reader `document`.

        Raises:
            ValueError: If a text is empty.
        """
        lines = []
        rows = zip(self.texts, self.labels, self.others)
        for number, (text, labels, others) in enumerate(rows, start=1):
            if not text.strip():
                raise ValueError(f"{self.path}: text {number} is empty; remove it")
            own = {TEXT: text, LABELS: _told(labels)}
            lines.append(json_line({**own, **others, **own}, default=str))
        return lines

    def present(self) -> List[List[str]]:
        """Returns the labels that each text is known to have."""
        return [parsed_labels(_told(each), UNKNOWN).present for each in self.labels]

    def described(self) -> List[str]:
        """Says in lines what was found, with an example."""
        counts, lengths = self.counts, [*map(num_words, self.texts)]
        unknown = sum(each is None for each in self.labels)
        signs = [[label[:1] for label in each] + [*each.values()] for each in self.labels if each]
        parts = sum(UNKNOWN in each or None in each for each in signs)
        none = sum(each is not None and {*each.values()} <= {False} for each in self.labels)
        at = next((n for n, each in enumerate(self.labels) if each and any(each.values())), 0)
        example = [label for label, has in (self.labels[at] or {}).items() if has]
        shown = " ".join(self.texts[at].split())
        shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
        kinds = "each text has one" if self.is_single else "a text may have several or none"
        words = f"{len(lengths):,}, of {mean(lengths):.1f} words on average"
        some = f"all labels of {unknown:,} texts, and some of {parts:,}" if unknown + parts else ""
        texts, keys = map(listed, self.used)
        lines = topics(
            [
                ("texts", f"{words}, in {texts}"),
                (
                    "labels",
                    f"{len(counts)} of whole texts, in {keys}; {kinds}: {listed_counts(counts)}",
                ),
                ("rare", listed(rare_labels(counts)) if counts else ""),
                ("none", f"{none:,} texts have no label" if none else ""),
                ("unknown", some),
                ("read", f"{shown!r} with {listed(example)}"),
                ("not used", listed([each + hint_of(each) for each in self.unused]) or "nothing"),
            ]
        )
        return [str(self.path), *lines]

    @property
    def counts(self) -> Counter[str]:
        """The number of texts with each label, most frequent first."""
        return Counter(dict(Counter(chain(*self.present())).most_common()))


class _AmbiguousError(Exception):
    """Several columns may hold the labels."""


def _told(labels: Labels) -> Any:
    """Returns labels as the reader `document` takes them: a list if all are known and present."""
    if labels is None or all(labels.values()):
        return None if labels is None else [*labels]
    return {label: has if has is None else int(has) for label, has in labels.items()}


def find_labelled_texts(path: Path, tag: Optional[str] = None) -> Optional[LabelledTexts]:
    """Reads texts with labels; None if the file holds something else, such as tagged words.

    A row, or a JSON object, has a text of several words, or several texts, and its labels: `tag`, or
    columns that hold only 0 and 1, or a list, an object with 0 or 1 for each label, or a column of few
    different labels. fastText's files begin each line with `__label__`.

    Raises:
        ValueError: If several columns may hold the labels, or a quote in a table is out of place.
    """
    if not path.is_file():
        return None
    try:
        # Most files hold something else, and the beginning shows it. Labels may be sorted.
        begin = _columns(records_of(path, _NUM_LINES))
        if not any(map(_are_texts, begin.values())) or recognise(path) not in _FORMATS:
            return None
        return _found(path, records_of(path), tag)
    except _AmbiguousError as error:
        if recognise(path) is None:
            raise ValueError(f"{path}: {error}") from None
        return None
    except BrokenTableError as error:
        if recognise(path) is None and _found(path, error.records, tag) is not None:
            raise ValueError(str(error)) from None
        return None
    except (ValueError, UnicodeError, RecursionError):
        return None


def _found(
    path: Path, records: Sequence[Dict[str, Any]], tag: Optional[str]
) -> Optional[LabelledTexts]:
    """Returns the texts and labels of some records; None if they hold something else."""
    if len(records) < 2:
        return None
    columns = _columns(records)
    if all(is_entity({key: _as_number(value) for key, value in each.items()}) for each in records):
        return None
    texts = [key for key, values in columns.items() if key != tag and _are_texts(values)]
    keys, labels = _labels(columns, texts, tag) or (None, [])
    if not texts or keys is None:
        return None
    joined = ["\n".join(filter(None, each)) for each in zip(*map(columns.get, texts))]
    used = {*texts, *keys}
    numbers = {sum(map(bool, each.values())) for each in labels if each is not None}
    return LabelledTexts(
        path,
        joined,
        labels,
        (texts, keys),
        [key for key in columns if key not in used],
        [{key: value for key, value in each.items() if key not in used} for each in records],
        numbers == {1},
    )


def _as_number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _columns(records: Sequence[Dict[str, Any]]) -> Dict[str, List[Any]]:
    return {key: [each.get(key) for each in records] for key in dict.fromkeys(chain(*records))}


def _are_texts(values: Sequence[Any]) -> bool:
    """Whether the values are texts of several words, most of them different."""
    texts = [each for each in values if isinstance(each, str) and each.strip()]
    return (
        len(texts) >= max(1, _SHARE * len(values))
        and all(each is None or isinstance(each, str) for each in values)
        and mean(map(num_words, texts)) > _FEW_WORDS
        and len({*texts}) > _DISTINCT * len(texts)
        and sum(each.lstrip().startswith(("[", "{")) for each in texts) <= _SHARE * len(texts)
    )


def _labels(
    columns: Dict[str, List[Any]], texts: Sequence[str], tag: Optional[str]
) -> Optional[Tuple[List[str], List[Labels]]]:
    """Returns the keys of the labels and the labels of each text; None if no key has them."""
    others = {key: values for key, values in columns.items() if key not in {*texts, WEIGHT} - {tag}}
    for key, values in others.items() if texts else ():
        if _is_of_words(columns[texts[0]], values) or (
            key != tag and _are_quoted(columns[texts[0]], values)
        ):
            return None
    if tag is not None and texts:
        found = labels_of(others[tag]) if tag in others else None
        return None if found is None else ([tag], found)
    read = {key: found for key, values in others.items() if (found := labels_of(values))}
    several = [key for key in read if not isinstance(others[key][0], (str, int, float))]
    several = [key for key in several if _NAMES.fullmatch(key) or not are_numbers(others[key])]
    flags = [key for key, values in others.items() if are_flags(values)]
    if len(flags) == 1 and minus_is_label(others[flags[0]]):
        flags = []
    named = [key for key in read if _NAMES.fullmatch(key)]
    if several or (named and named[0] not in flags):
        key = next(iter([*filter(named.__contains__, several), *several, *named]))
        return [key], read[key]
    words = [key for key in read if are_words(others[key])]
    if len(flags) > 1 or (flags and not {*words} - {*flags}):
        rows = zip(*(others[key] for key in flags))
        return flags, [{key: flag(cell) for key, cell in zip(flags, row)} for row in rows]
    if len(words) > 1:
        raise _AmbiguousError(
            f"texts, and their labels may be in {', '.join(words[:-1])} or {words[-1]}; name the column "
            "by --tag-column"
        )
    return (words, read[words[0]]) if words else None


def _is_of_words(texts: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether values hold something for words: tags, or places in the text."""
    pairs = [(str(text).split(), _cells(value)) for text, value in zip(texts, values) if value]
    several = [(words, cells) for words, cells in pairs if len(words) > 1 and cells]
    num_tagged = sum(len(words) == len(cells) for words, cells in several)
    has_places = any(isinstance(each, (list, tuple, dict)) for _, cells in pairs for each in cells)
    return has_places or (bool(several) and num_tagged > _SHARE * len(several))


def _are_quoted(texts: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether nearly all values are words of their texts, such as entities."""
    quoted = [_quotes(str(text), str(value)) for text, value in zip(texts, values) if value]
    return isinstance(values[0], str) and sum(quoted) >= _NEARLY_ALL * len(quoted) > 0


def _quotes(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _cells(value: Any) -> List[Any]:
    """Returns the parts of a list, or of a string that spells one or has several words."""
    if isinstance(value, str):
        listed_cells = spelled(value)
        return value.split() if listed_cells is None else listed_cells
    return [*value] if isinstance(value, (list, tuple)) else []
