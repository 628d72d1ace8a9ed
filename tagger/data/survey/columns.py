"""Detects a file's header, the columns of tokens and tags, and comments."""

import logging
import re
from collections import Counter
from os import PathLike
from typing import (
    Callable,
    Container,
    Dict,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from tagger.data.column_file import PROPERTY, Row, fitted_columns
from tagger.data.reading import DETECTED, Column, Reading
from tagger.data.survey.headers import named
from tagger.data.survey.schemes import find_scheme, labels_in, marks_outside
from tagger.data.survey.spellings import (
    OUTSIDE,
    SPELLINGS,
    STANDARD,
    find_spelling,
    separator_of_spans,
)
from tagger.data.survey.token_columns import names_runs, sentence_columns, token_column

logger = logging.getLogger(__name__)

K = TypeVar("K", int, str)
#: The cells of a column, sentence by sentence.
Sentences = Sequence[Sequence[str]]
#: The largest number of distinct plain labels, or their largest share of the tokens.
_MOST_LABELS, _LARGEST_SHARE = 60, 0.05
#: Labels of chunks, which CoNLL-2000 and CoNLL-2003 have, and which outnumber entities.
_CHUNKS = frozenset(
    ["ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP"]
)


#: Comments that may have as many cells as tokens.
_DOCUMENT = re.compile(r"#\s*(newdoc|(begin|end|new) document)\b", re.IGNORECASE)


class Columns(NamedTuple):
    """The columns of tokens, tags and sentence numbers; and spans per column, if several have spans."""

    token: int
    tag: Optional[int]
    sentence: Optional[int]
    restarts: Optional[int]
    documents: Tuple[int, ...]
    spans: Mapping[int, int]


def find_columns(
    sentences: Sequence[Sequence[Row]],
    name: Union[str, PathLike],
    reading: Reading = DETECTED,
    header: Sequence[str] = (),
) -> Columns:
    """Finds the columns of tokens, tags and sentence numbers.

    The tags are in the column with the most spans, ignoring chunks. If none has spans, they are in the
    column where most tokens are `O`, or else in the last one with few distinct cells, such as parts of
    speech. The tokens are in the first other column that neither numbers the tokens nor is constant
    within sentences. A header decides the column of tokens, and that of tags without spans. Without
    blank lines, a column that numbers the sentences or the tokens tells where sentences begin.
    """
    first = sentences[0][0]
    names = [cell.lower() for cell in header]
    token = _number(reading.token_column, "token", first, header, name)
    tag = _number(reading.tag_column, "tag", first, header, name)
    numbers = range(len(first.columns))
    cells = {i: [[row.columns[i] for row in rows] for rows in sentences] for i in numbers}
    spans: Dict[int, int] = {}
    token = named(names, "token") if token is None else token
    if reading.labelled:
        candidates = [i for i in numbers if i != token]
        spans = count_spans({i: cells[i] for i in candidates}, tag, may_be_plain=True)
        if tag is None:
            counts = [_count(column) for column in cells.values()]
            tag = _tag_column(counts, candidates, spans, named(names, "tag"))
            if not spans and len(counts[tag]) > _most_labels(counts):
                raise ValueError(
                    f"{name}:{first.number}: expected a column of tags, got none with spans or few "
                    f"labels in {first.quoted}; name one by `tag_column` (`--tag-column`)"
                )
    sentence, index = named(names, "sentence"), None
    if sentence is None and len(sentences) == 1:
        alone = {i: column[0] for i, column in cells.items() if i not in (token, tag)}
        sentence, index = sentence_columns(alone)
    if token is None:
        taken = (tag, sentence, index)
        token = token_column({i: cells[i] for i in numbers if i not in taken}, [*taken, *spans])
    if token == tag:
        raise ValueError(f"{name}: `token_column` and `tag_column` are both {tag}")
    documents: Tuple[int, ...] = ()
    if sentence is not None and len(sentences) == 1:
        others = {*numbers} - {token, tag, sentence, *spans}
        documents = tuple(i for i in sorted(others) if names_runs(cells[i][0]))
    return Columns(token, tag, sentence, index, documents, spans if len(spans) > 1 else {})


def _number(
    column: Optional[Column],
    kind: str,
    first: Row,
    header: Sequence[str],
    name: Union[str, PathLike],
) -> Optional[int]:
    """Returns the number of a column that the user specified; negative ones count from the end."""
    num = len(first.columns)
    if isinstance(column, int) and -num <= column < num:
        return column % num
    if column is None:
        return None
    if isinstance(column, str) and column in header:
        return header.index(column)
    columns = f": {', '.join(header)}" if header else f": {first.columns}"
    raise ValueError(
        f"{name}:{first.number}: `{kind}_column` (`--{kind}-column`) is {column}, but there are the "
        f"columns 0 to {num - 1}{columns}"
    )


def count_spans(
    cells: Mapping[K, Sentences], tag: Optional[K] = None, may_be_plain: bool = False
) -> Dict[K, int]:
    """Returns the number of spans in each column with spans; 0 if only one has any.

    Chunks, and tags that join several spans of a token, count only if nothing else has spans; but the
    column `tag` always counts. So do plain labels that mark spans, if that `may_be_plain`.
    """
    counts = {i: _count(column) for i, column in cells.items()}
    spellings = {i: find_spelling(counts[i]) for i in cells}
    found: List[K] = [i for i in cells if spellings[i] is not None]
    joined = [i for i in found if separator_of_spans(counts[i], STANDARD)]
    chunks = [i for i in found if _are_chunks(counts[i], spellings[i] or STANDARD)]
    entities = [i for i in found if i not in joined and i not in chunks]
    if may_be_plain and len(chunks) == len(found):
        entities = [i for i in cells if i not in found and marks_spans(counts[i])]
        found += entities
    found = [i for i in found if i == tag or i in entities] or joined or found
    if len(found) == 1:
        return {found[0]: 0}  # there is nothing to compare it with
    return {i: _count_spans(cells[i]) for i in found}


def _are_chunks(counts: Iterable[str], spelling: str) -> bool:
    matches = (SPELLINGS[spelling].fullmatch(tag) for tag in counts)
    labels = {match["label"] for match in matches if match}
    return bool(labels) and labels <= _CHUNKS


def marks_spans(counts: Mapping[str, int]) -> bool:
    """Whether a few plain labels mark spans."""
    is_small = len(counts) <= _MOST_LABELS and not any(
        tag.isdecimal() for tag in counts if tag not in OUTSIDE
    )
    return is_small and len(counts) > 1 and marks_outside(counts)


def _count_spans(column: Sentences) -> int:
    scheme = find_scheme(column)
    return sum(len(labels_in([*map(scheme.canonical, tags)], scheme)) for tags in column)


def key_of_spans(
    tags: Mapping[str, Sentences], several: str, may_be_plain: bool = False
) -> Optional[str]:
    """Returns the key with the most spans; None if none has any. See `count_spans`.

    If there are several, logs a warning that starts with `several`, such as "file.conllu: several keys
    in MISC".
    """
    found = count_spans(tags, may_be_plain=may_be_plain)
    if len(found) > 1:
        logger.warning(
            "%s spell spans (%s); `tag_column` (`--tag-column`) takes another than the one with the "
            "most",
            several,
            ", ".join(f"{key} {number:,}" for key, number in found.items()),
        )
    return max(found, key=found.__getitem__, default=None)


def _count(column: Sentences) -> Counter[str]:
    return Counter(cell for sentence in column for cell in sentence)


def _tag_column(
    counts: Sequence[Counter[str]],
    candidates: Sequence[int],
    spans: Dict[int, int],
    named: Optional[int],
) -> int:
    if spans:
        return max(spans, key=lambda i: (spans[i], i == named, i))
    if named is not None and named in candidates:
        return named
    # In a short file, there are few tokens too.
    most = min(_most_labels(counts), max(map(len, counts)) / 2)
    few = [i for i in candidates if 1 < len(counts[i]) <= most]
    marking = [i for i in few if marks_spans(counts[i])]
    without = [i for i in candidates if set(counts[i]) == {"O"}]
    return (marking or without or few or [*candidates])[-1]


def _most_labels(counts: Sequence[Counter[str]]) -> float:
    return max(_MOST_LABELS, _LARGEST_SHARE * sum(counts[0].values()))


def comment_test(
    num_columns: int, tag: Optional[int], tags: Container[str], spelling: Optional[str]
) -> Callable[[str, List[str]], bool]:
    """Returns a test of whether a line that starts with `#`, given its cells, is a comment.

    Tokens have `num_columns`; `tag` is the column of their `tags`; for labels, `spelling` is None.
    """

    def is_comment(line: str, columns: List[str]) -> bool:
        fitted = fitted_columns(columns, num_columns)
        if fitted is None or tag is None or _DOCUMENT.match(line):
            return fitted is None or tag is not None
        cell = fitted[tag]
        if PROPERTY.match(line) and cell not in tags:
            return True
        if cell in tags or cell in OUTSIDE:
            return False
        return "=" in line if spelling is None else not SPELLINGS[spelling].fullmatch(cell)

    return is_comment
