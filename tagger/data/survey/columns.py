"""Which line names the columns of a file, which column holds what, and which lines are comments."""

import logging
from collections import Counter
from itertools import pairwise
from os import PathLike
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, TypeVar, Union

from tagger.data.column_file import Row, fitted_columns
from tagger.data.survey.schemes import find_scheme, labels_in, marks_outside
from tagger.data.survey.spellings import OUTSIDE, SPELLINGS, STANDARD, find_spelling, joined_spans

logger = logging.getLogger(__name__)

K = TypeVar("K", int, str)
#: A column, by its number or by its name in the header.
Column = Union[int, str]
#: The cells of a column, sentence by sentence.
Sentences = Sequence[Sequence[str]]
#: The names that columns may have, in small letters, best first.
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
#: The largest number of different plain labels, or their largest share of the tokens.
_MOST_LABELS, _LARGEST_SHARE = 60, 0.05
#: Chunks, which CoNLL-2000 and CoNLL-2003 have beside entities, and of which there are more.
_CHUNKS = frozenset(
    ["ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP"]
)


class Columns(NamedTuple):
    """Where tokens and tags are.

    Attributes:
        num: The number of columns.
        token: The column of the tokens, from 0.
        tag: The column of the tags, from 0; None without.
        sentence: The column that numbers the sentences, if one does.
        spans: The number of spans in each column that spells spans, if several do.
    """

    num: int
    token: int
    tag: Optional[int]
    sentence: Optional[int]
    spans: Mapping[int, int]


def find_header(rows: Sequence[Row], labelled: bool = True) -> Optional[Row]:
    """Returns the first row if it names the columns.

    It does if it names a column of tokens and one of tags, or if one name is known and no cell is a tag
    where the other rows spell spans.

    Args:
        rows: The rows of tokens.
        labelled: Whether a single known name may tell a header, which needs tags to compare with.
    """
    if len(rows) < 2:
        return None
    first = rows[0]
    names = [cell.lower() for cell in first.columns]
    tag = _named(names, "tag")
    if _named(names, "token") is not None and tag is not None:
        return first if all(row.columns[tag] != first.columns[tag] for row in rows[1:]) else None
    is_known = labelled and any(
        name in known for name in names for known in (*NAMES.values(), _OTHER_NAMES)
    )
    if not is_known:
        return None
    spelled = [
        (cell, counts, found)
        for column, cell in enumerate(first.columns)
        for counts in [Counter(row.columns[column] for row in rows[1:])]
        if (found := find_spelling(counts)) is not None
    ]
    is_tag = any(
        cell in OUTSIDE or cell in counts or SPELLINGS[found].pattern.fullmatch(cell)
        for cell, counts, found in spelled
    )
    return first if spelled and not is_tag else None


def names_tokens(header: Sequence[str]) -> bool:
    """Whether the names of columns are those of tokens and of tags."""
    names = [cell.lower() for cell in header]
    return None not in (_named(names, "token"), _named(names, "tag"))


def _named(names: Sequence[str], kind: str) -> Optional[int]:
    return next((names.index(name) for name in NAMES[kind] if name in names), None)


def find_columns(
    sentences: Sequence[Sequence[Row]],
    name: Union[str, PathLike],
    token_column: Optional[Column] = None,
    tag_column: Optional[Column] = None,
    header: Sequence[str] = (),
    labelled: bool = True,
) -> Columns:
    """Finds the columns of the tokens, of the tags, and of the numbers of sentences.

    The tags are in the column that spells the most spans, chunks apart. Without one they are where most
    tokens are `O`, or else in the last column that has few different cells, as parts of speech do. The
    tokens are in the first other column that neither numbers the tokens nor has the same cell for all
    tokens of a sentence. A header names the column of the tokens, and that of tags that spell no spans.

    Args:
        sentences: The lines of each sentence, all with the same number of columns.
        name: The name of the file, for messages.
        token_column: The column of the tokens, if it is known; negative ones count from the end.
        tag_column: The column of the tags, likewise.
        header: The names of the columns, if the file has them.
        labelled: Whether there are tags.

    Raises:
        ValueError: If there is no such column.
    """
    first = sentences[0][0]
    num = len(first.columns)
    names = [cell.lower() for cell in header]
    token = _number(token_column, "token", first, header, name)
    tag = _number(tag_column, "tag", first, header, name)
    # The cells of each column, sentence by sentence.
    cells = {i: [[row.columns[i] for row in rows] for rows in sentences] for i in range(num)}
    counts = [_count(column) for column in cells.values()]
    spans: Dict[int, int] = {}
    token = _named(names, "token") if token is None else token
    if labelled:
        candidates = [i for i in range(num) if i != token]
        spans = count_spans({i: cells[i] for i in candidates}, tag)
        if tag is None:
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
        left = [i for i in range(num) if i not in (tag, sentence)]
        words = [i for i in left if not _is_about_sentences(cells[i])]
        token = (words or left or [0])[0]
    if token == tag:
        raise ValueError(f"{name}: `token_column` and `tag_column` are both {tag}")
    return Columns(num, token, tag, sentence, spans if len(spans) > 1 else {})


def _number(
    column: Optional[Column],
    kind: str,
    first: Row,
    header: Sequence[str],
    name: Union[str, PathLike],
) -> Optional[int]:
    """Returns the number of a column that the user named."""
    num = len(first.columns)
    if isinstance(column, int) and -num <= column < num:
        return column % num
    if column is None:
        return None
    if isinstance(column, str) and column in header:
        return header.index(column)
    known = f": {', '.join(header)}" if header else f": {first.columns}"
    raise ValueError(
        f"{name}:{first.number}: `{kind}_column` (`--{kind}-column`) is {column}, but there are the "
        f"columns 0 to {num - 1}{known}"
    )


def count_spans(cells: Mapping[K, Sentences], tag: Optional[K] = None) -> Dict[K, int]:
    """Returns the number of spans in each column that spells spans; 0 if only one does.

    Chunks count only if nothing else spells spans, and so do tags that join several spans of a token;
    but the column `tag` counts in any case.
    """
    counts = {i: _count(column) for i, column in cells.items()}
    found = [i for i in cells if find_spelling(counts[i]) is not None]
    labels = {i: {cell[2:] for cell in counts[i] if cell[1:2] == "-"} for i in found}
    joined = [i for i in found if any(joined_spans(cell, STANDARD) for cell in counts[i])]
    entities = [i for i in found if i not in joined and not (labels[i] and labels[i] <= _CHUNKS)]
    found = [i for i in found if i == tag or i in entities] or found
    if len(found) == 1:
        return {found[0]: 0}  # there is nothing to compare it with
    schemes = {i: find_scheme(cells[i]) for i in found}
    return {
        i: sum(len(labels_in([*map(scheme.canonical, tags)], scheme)) for tags in cells[i])
        for i, scheme in schemes.items()
    }


def key_of_spans(tags: Mapping[str, Sentences], several: str) -> Optional[str]:
    """Returns the key under which tags spell the most spans; None if they do so under none.

    Warns of `several` keys, such as "file.conllu: several keys in MISC".
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
    # In a short file, tokens are few too.
    most = min(_most_labels(counts), max(map(len, counts)) / 2)
    few = [i for i in candidates if 1 < len(counts[i]) <= most]
    marking = [i for i in few if "O" in counts[i] and marks_outside(counts[i])]
    without = [i for i in candidates if set(counts[i]) == {"O"}]
    return (marking or without or few or [*candidates])[-1]


def _most_labels(counts: Sequence[Counter[str]]) -> float:
    return max(_MOST_LABELS, _LARGEST_SHARE * sum(counts[0].values()))


def _is_about_sentences(column: Sentences) -> bool:
    """Whether the cells number the tokens, or are equal within each sentence."""
    several = [cells for cells in column if len(cells) > 1]
    if len(several) > 1 and all(len(set(cells)) == 1 for cells in column):
        return True
    return bool(several) and all(
        all(map(str.isdecimal, cells)) and all(int(b) - int(a) == 1 for a, b in pairwise(cells))
        for cells in column
    )


def _sentence_column(cells: Mapping[int, Sentences], taken: set[Optional[int]]) -> Optional[int]:
    """Finds a column of rising numbers, each on several lines, in a file without blank lines."""
    if len(cells[0]) > 1:
        return None
    for i, ((*numbers,),) in cells.items():
        if i not in taken and all(map(str.isdecimal, numbers)):
            steps = Counter(int(b) - int(a) for a, b in pairwise(numbers))
            if set(steps) == {0, 1} and steps[0] >= steps[1]:
                return i
    return None


class Comments(NamedTuple):
    """Tells comments from tokens that start with `#`.

    Attributes:
        num_columns: How many columns tokens have.
        tag: The column of the tags; None without.
        tags: The tags of tokens.
        spelling: How tags spell spans, if they do.
    """

    num_columns: int
    tag: Optional[int]
    tags: frozenset[str]
    spelling: Optional[str]

    def are(self, line: str, columns: List[str]) -> bool:
        """Whether a line that starts with `#`, and its cells, are a comment."""
        fitted = fitted_columns(columns, self.num_columns)
        if fitted is None or self.tag is None:
            return fitted is None
        cell = fitted[self.tag]
        if cell in self.tags or cell in OUTSIDE:
            return False
        if self.spelling is not None:
            return SPELLINGS[self.spelling].pattern.fullmatch(cell) is None
        return "=" in line
