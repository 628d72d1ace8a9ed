"""Detects a file's header, the columns of tokens and tags, and comments."""

import logging
from collections import Counter
from itertools import pairwise
from os import PathLike
from typing import (
    Callable,
    Container,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

from tagger.data.column_file import Row, fitted_columns
from tagger.data.survey.schemes import find_scheme, labels_in, marks_outside
from tagger.data.survey.spellings import (
    OUTSIDE,
    SPELLINGS,
    STANDARD,
    find_spelling,
    separator_of_spans,
)

logger = logging.getLogger(__name__)

K = TypeVar("K", int, str)
#: A column, by its number or by its name in the header.
Column = Union[int, str]
#: The cells of a column, sentence by sentence.
Sentences = Sequence[Sequence[str]]
#: Possible names of columns, in lowercase, best first.
NAMES = {
    "sentence": (
        *("sentence", "sentence #", "sentence_id", "sent_id", "sentence_number", "sentence id"),
        *("sentence_idx", "sent", "sent_idx", "sentid", "sentenceid"),
    ),
    "token": ("token", "word", "tokens", "words", "form", "token_text", "text"),
    "tag": (
        *("tag", "ner_tag", "ner", "ner_tags", "label", "tags", "labels", "entity", "entities"),
        *("named_entity", "ne", "ne_tag", "iob", "bio", "iob_tag", "bio_tag", "annotation"),
    ),
}
_OTHER_NAMES = ("pos", "pos_tag", "upos", "xpos", "lemma", "chunk", "id", "idx", "index", "#")
#: The largest number of distinct plain labels, or their largest share of the tokens.
_MOST_LABELS, _LARGEST_SHARE = 60, 0.05
#: Labels of chunks, which CoNLL-2000 and CoNLL-2003 have, and which outnumber entities.
_CHUNKS = frozenset(
    ["ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP"]
)


#: Means that the encoding is detected in the file.
AUTO = "auto"


class Known(NamedTuple):
    """What the user specifies about a column file, which is not detected; see the reader `column`.

    Tags are read if it is `labelled`.
    """

    text_encoding: Optional[str] = None
    delimiter: Optional[str] = None
    token_column: Optional[Column] = None
    tag_column: Optional[Column] = None
    source_encoding: Optional[str] = AUTO
    labelled: bool = True


#: Nothing is known about a file.
NOTHING = Known()


class Columns(NamedTuple):
    """The columns of tokens, tags and sentence numbers; and spans per column, if several have spans."""

    token: int
    tag: Optional[int]
    sentence: Optional[int]
    spans: Mapping[int, int]


def find_header(rows: Sequence[Row], labelled: bool = True) -> Optional[Row]:
    """Returns the first row if it names the columns.

    That is so if it names columns of tokens and of tags; or, in a file with tags, if one name is known
    and no cell is a tag in a column with spans.
    """
    if len(rows) < 2:
        return None
    first, *others = rows
    names = [cell.lower() for cell in first.columns]
    tag = _named(names, "tag")
    if names_tokens(names) and tag is not None:
        is_name = all(row.columns[tag] != first.columns[tag] for row in others)
        return first if is_name else None
    known = {*_OTHER_NAMES, *(name for names in NAMES.values() for name in names)}
    if not labelled or known.isdisjoint(names):
        return None
    has_spans = False
    for column, cell in enumerate(first.columns):
        counts = Counter(row.columns[column] for row in others)
        spelling = find_spelling(counts)
        if spelling is not None:
            has_spans = True
            if cell in OUTSIDE or cell in counts or SPELLINGS[spelling].fullmatch(cell):
                return None
    return first if has_spans else None


def names_tokens(header: Sequence[str]) -> bool:
    """Whether the names include columns of tokens and of tags."""
    names = [cell.lower() for cell in header]
    return None not in (_named(names, "token"), _named(names, "tag"))


def _named(names: Sequence[str], kind: str) -> Optional[int]:
    return next((names.index(name) for name in NAMES[kind] if name in names), None)


def find_columns(
    sentences: Sequence[Sequence[Row]],
    name: Union[str, PathLike],
    known: Known = NOTHING,
    header: Sequence[str] = (),
) -> Columns:
    """Finds the columns of tokens, tags and sentence numbers.

    The tags are in the column with the most spans, ignoring chunks. If none has spans, they are in the
    column where most tokens are `O`, or else in the last one with few distinct cells, such as parts of
    speech. The tokens are in the first other column that neither numbers the tokens nor is constant
    within sentences. A header decides the column of tokens, and that of tags without spans.
    """
    first = sentences[0][0]
    names = [cell.lower() for cell in header]
    token = _number(known.token_column, "token", first, header, name)
    tag = _number(known.tag_column, "tag", first, header, name)
    numbers = range(len(first.columns))
    cells = {i: [[row.columns[i] for row in rows] for rows in sentences] for i in numbers}
    spans: Dict[int, int] = {}
    token = _named(names, "token") if token is None else token
    if known.labelled:
        candidates = [i for i in numbers if i != token]
        spans = count_spans({i: cells[i] for i in candidates}, tag)
        if tag is None:
            counts = [_count(column) for column in cells.values()]
            tag = _tag_column(counts, candidates, spans, _named(names, "tag"))
            if not spans and len(counts[tag]) > _most_labels(counts):
                raise ValueError(
                    f"{name}:{first.number}: expected a column of tags, got none with spans or few "
                    f"labels in {first.quoted}; name one by `tag_column` (`--tag-column`)"
                )
    sentence = _named(names, "sentence")
    if sentence is None:
        sentence = _sentence_column(cells, {token, tag})
    if token is None:
        left = [i for i in numbers if i not in (tag, sentence)]
        words = [i for i in left if not _is_about_sentences(cells[i])]
        token = (words or left or [0])[0]
    if token == tag:
        raise ValueError(f"{name}: `token_column` and `tag_column` are both {tag}")
    return Columns(token, tag, sentence, spans if len(spans) > 1 else {})


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


def count_spans(cells: Mapping[K, Sentences], tag: Optional[K] = None) -> Dict[K, int]:
    """Returns the number of spans in each column with spans; 0 if only one has any.

    Chunks, and tags that join several spans of a token, count only if nothing else has spans; but the
    column `tag` always counts.
    """
    counts = {i: _count(column) for i, column in cells.items()}
    found = [i for i in cells if find_spelling(counts[i]) is not None]
    labels = {i: {cell[2:] for cell in counts[i] if cell[1:2] == "-"} for i in found}
    joined = [i for i in found if separator_of_spans(counts[i], STANDARD)]
    entities = [i for i in found if i not in joined and not (labels[i] and labels[i] <= _CHUNKS)]
    found = [i for i in found if i == tag or i in entities] or found
    if len(found) == 1:
        return {found[0]: 0}  # there is nothing to compare it with
    return {i: _count_spans(cells[i]) for i in found}


def _count_spans(column: Sentences) -> int:
    scheme = find_scheme(column)
    return sum(len(labels_in([*map(scheme.canonical, tags)], scheme)) for tags in column)


def key_of_spans(tags: Mapping[str, Sentences], several: str) -> Optional[str]:
    """Returns the key with the most spans; None if none has any.

    If there are several, logs a warning that starts with `several`, such as "file.conllu: several keys
    in MISC".
    """
    found = count_spans(tags)
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
    marking = [i for i in few if "O" in counts[i] and marks_outside(counts[i])]
    without = [i for i in candidates if set(counts[i]) == {"O"}]
    return (marking or without or few or [*candidates])[-1]


def _most_labels(counts: Sequence[Counter[str]]) -> float:
    return max(_MOST_LABELS, _LARGEST_SHARE * sum(counts[0].values()))


def _is_about_sentences(column: Sentences) -> bool:
    """Whether the cells number the tokens, or are constant within each sentence."""
    several = [cells for cells in column if len(cells) > 1]
    if len(several) > 1 and all(len(set(cells)) == 1 for cells in column):
        return True
    return bool(several) and all(
        all(map(str.isdecimal, cells)) and all(int(b) - int(a) == 1 for a, b in pairwise(cells))
        for cells in column
    )


def _sentence_column(cells: Mapping[int, Sentences], taken: set[Optional[int]]) -> Optional[int]:
    """Finds a column of increasing numbers, each on several lines, in a file without blank lines."""
    for i, (numbers, *more) in cells.items():
        if not more and i not in taken and all(map(str.isdecimal, numbers)):
            steps = Counter(int(b) - int(a) for a, b in pairwise(numbers))
            if set(steps) == {0, 1} and steps[0] >= steps[1]:
                return i
    return None


def comment_test(
    num_columns: int, tag: Optional[int], tags: Container[str], spelling: Optional[str]
) -> Callable[[str, List[str]], bool]:
    """Returns a test of whether a line that starts with `#`, given its cells, is a comment.

    Tokens have `num_columns`; `tag` is the column of their `tags`; for labels, `spelling` is None.
    """

    def is_comment(line: str, columns: List[str]) -> bool:
        fitted = fitted_columns(columns, num_columns)
        if fitted is None or tag is None:
            return fitted is None
        cell = fitted[tag]
        if cell in tags or cell in OUTSIDE:
            return False
        return "=" in line if spelling is None else not SPELLINGS[spelling].fullmatch(cell)

    return is_comment
