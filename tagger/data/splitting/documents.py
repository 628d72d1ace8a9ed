"""Finds the documents that a file's sentences or texts belong to.

Splits, folds and resampling all use this, so that none of them divides a document.
"""

import re
from collections import Counter
from itertools import accumulate, groupby, pairwise
from os import PathLike
from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Sequence, Union

from tagger.data.column_file import Row, is_docstart
from tagger.data.formats import AnnotatedText
from tagger.data.formats.annotated_text import DOCUMENT_KEYS

#: Values of `--documents`, by what marks documents.
DOCSTART, COMMENTS, BLANK_LINES = "docstart", "comments", "blank_lines"
COLUMN, TEXTS, NONE = "column", "texts", "none"
#: Keys of records that may contain one of `DOCUMENT_KEYS`.
_OUTER_KEYS = ("meta", "metadata", "_meta")
#: A comment that begins a document, and one that names the document of the following sentences.
_NEW_DOCUMENT = re.compile(r"#\s*(newdoc\b|begin document\b|new document\b)", re.IGNORECASE)
_NAMED_DOCUMENT = re.compile(r"#\s*(document|doc)([ _-]?id)?\s*[:=]", re.IGNORECASE)
#: Texts with this many characters on average are documents: a sentence has about 120.
_LONG = 500
#: Uncertain borders count if documents have this many sentences on average, if there are this many
#: documents, and if none has a larger share of the file.
_LEAST_MEAN_SIZE, _LEAST_DOCUMENTS, _LARGEST_SHARE = 1.5, 5, 0.5


class Documents(NamedTuple):
    """The documents of a file.

    Attributes:
        told_by: What marks documents, for messages: "`-DOCSTART-` lines".
        how: `docstart`, `comments`, `blank_lines`, `column`, `texts`, or the key of a property.
        of_item: The document number of each sentence or text, from 0.
    """

    told_by: str
    how: str
    of_item: List[int]

    @property
    def number(self) -> int:
        """How many documents there are."""
        return max(self.of_item, default=-1) + 1


def joined_documents(of_files: Sequence[Documents]) -> Documents:
    """Joins the documents of several files.

    Example:
        >>> files = [Documents("a column", "column", numbers) for numbers in ([0, 1], [0, 0])]
        >>> joined_documents(files).of_item
        [0, 1, 2, 2]
    """
    firsts = accumulate((each.number for each in of_files), initial=0)
    of_item = [first + n for first, each in zip(firsts, of_files) for n in each.of_item]
    return of_files[0]._replace(of_item=of_item)


def documents_of_rows(
    sentences: Sequence[Sequence[Row]],
    gaps: Sequence[Sequence[str]],
    name: Union[str, PathLike],
    others: Sequence[int] = (),
    how: Optional[str] = None,
) -> Optional[Documents]:
    """Finds the documents of a column file; None if nothing marks at least two of them.

    `gaps` are the lines between the sentences, and `others` the columns of tokens and tags. `how` says
    what marks documents: `docstart`, `comments`, `blank_lines`, the number of a column, or `none`; by
    default the first that the file has of `-DOCSTART-` lines; comments such as `# newdoc` or
    `# doc_id = 5`; a column with a name that several sentences in a row share; a column of offsets that
    start again; two or more blank lines in a row.
    """
    num_columns = len(sentences[0][0].columns)
    if how is None:
        free = sorted(set(range(num_columns)) - {each % num_columns for each in others})
        found = (
            *(_by_gaps(gaps, each) for each in (DOCSTART, COMMENTS)),
            *(_by_names(sentences, column) for column in free),
            *(_by_offsets(sentences, column) for column in free),
            _if_probable(_by_gaps(gaps, BLANK_LINES)),
        )
        return next((each for each in found if each is not None), None)
    if how in (NONE, TEXTS):
        return None
    if how in _BORDERS:
        return _by_gaps(gaps, how)
    if not re.fullmatch(r"-?\d+", how):
        raise ValueError(
            f"{name}: expected `--documents` to be {', '.join(_BORDERS)}, {NONE} or the number of a "
            f"column, since this is a column file; got {how!r}"
        )
    column = int(how)
    if not -num_columns <= column < num_columns:
        raise ValueError(
            f"{name}: `--documents` names column {column}, but there are {num_columns} columns, "
            "counted from 0"
        )
    return _named([rows[0].columns[column] for rows in sentences], f"column {column}", COLUMN)


def documents_of_texts(
    texts: Sequence[AnnotatedText],
    name: Union[str, PathLike],
    format: Optional[str] = None,
    how: Optional[str] = None,
) -> Optional[Documents]:
    """Finds the documents of a file of texts; None if nothing marks at least two of them.

    `how` says what marks documents: a key of the texts' properties, such as `doc_id` or `meta.doc`;
    `texts` if each text is a document; or `none`; by default the first that applies of `DOCUMENT_KEYS`;
    brat's files; texts of several sentences; texts of 500 characters or more on average.
    """
    if how == NONE or (how is None and len(texts) < 2):
        return None
    if how == TEXTS:
        return _each_text(texts, "texts")
    if how is not None:
        values = [_property(text.properties, how) for text in texts]
        if None in values:
            place = texts[values.index(None)].place
            raise ValueError(
                f"{place}: `--documents` names `{how}`, which this text lacks; name a key that each "
                f"text of {name} has, or `{TEXTS}` if each text is a document, or `{NONE}`"
            )
        return _named(values, f"`{how}`", how)
    return _by_key(texts) or _by_form(texts, format)


def _by_key(texts: Sequence[AnnotatedText]) -> Optional[Documents]:
    outer_keys = (f"{outer}.{key}" for outer in _OUTER_KEYS for key in DOCUMENT_KEYS)
    for key in (*DOCUMENT_KEYS, *outer_keys):
        values = [_property(text.properties, key) for text in texts]
        if None not in values and len(set(values)) > 1:
            return _named(values, f"`{key}`", key)
    return None


def _by_form(texts: Sequence[AnnotatedText], format: Optional[str]) -> Optional[Documents]:
    if format == "brat":
        return _each_text(texts, "files")
    if any(len(text.sentence_lengths or ()) > 1 for text in texts):
        return _each_text(texts, "texts of several sentences")
    are_long = sum(len(text.text) for text in texts) >= _LONG * len(texts)
    return _each_text(texts, "long texts") if are_long else None


def _each_text(texts: Sequence[AnnotatedText], told_by: str) -> Documents:
    return Documents(told_by, TEXTS, list(range(len(texts))))


def _named(values: Sequence[Hashable], told_by: str, how: str) -> Documents:
    numbers: Dict[Hashable, int] = {}
    return Documents(told_by, how, [numbers.setdefault(each, len(numbers)) for each in values])


def _bordered(starts: Sequence[bool], told_by: str, how: str) -> Optional[Documents]:
    """Makes documents that start where `starts` is true; the first sentence always starts one."""
    of_item = list(accumulate(starts[1:], initial=0))
    return Documents(told_by, how, of_item) if of_item[-1] else None


def _have_docstart(gaps: Sequence[Sequence[str]]) -> List[bool]:
    return [any(map(is_docstart, gap)) for gap in gaps]


def _have_blank_lines(gaps: Sequence[Sequence[str]]) -> List[bool]:
    return [sum(not line.strip() for line in gap) > 1 for gap in gaps]


def _have_new_comment(gaps: Sequence[Sequence[str]]) -> List[bool]:
    """Whether a comment before each sentence begins a document or names a new one."""
    starts, name = [], ""
    for gap in gaps:
        names = [line.strip() for line in gap if _NAMED_DOCUMENT.match(line)]
        is_other = bool(names) and names[-1] != name
        starts.append(is_other or any(map(_NEW_DOCUMENT.match, gap)))
        name = names[-1] if names else name
    return starts


#: Kinds of borders in the lines before a sentence, with their names for messages, and their detectors.
_BORDERS = {
    DOCSTART: ("`-DOCSTART-` lines", _have_docstart),
    COMMENTS: ("comments", _have_new_comment),
    BLANK_LINES: ("double blank lines", _have_blank_lines),
}


def _by_gaps(gaps: Sequence[Sequence[str]], how: str) -> Optional[Documents]:
    told_by, starts_of = _BORDERS[how]
    return _bordered(starts_of(gaps), told_by, how)


def _by_names(sentences: Sequence[Sequence[Row]], column: int) -> Optional[Documents]:
    """Finds documents by a column of names, constant within sentences and over runs of sentences."""
    if any(len({row.columns[column] for row in rows}) > 1 for rows in sentences):
        return None
    names = [rows[0].columns[column] for rows in sentences]
    runs = [name for name, _ in groupby(names)]
    if not 1 < len(set(runs)) == len(runs) or all(len(rows) == 1 for rows in sentences):
        return None
    return _if_of_several(_named(names, f"column {column}", COLUMN))


def _by_offsets(sentences: Sequence[Sequence[Row]], column: int) -> Optional[Documents]:
    """Finds documents by a column of offsets that grow within sentences and start again at times."""
    places = [[row.columns[column] for row in rows] for rows in sentences]
    if not all(place.isdecimal() for each in places for place in each):
        return None
    numbers = [list(map(int, each)) for each in places]
    if any(one >= other for each in numbers for one, other in pairwise(each)):
        return None
    starts = [each[0] <= last[-1] for last, each in zip([[-1], *numbers], numbers)]
    return _if_of_several(_bordered(starts, f"restarts of the numbers in column {column}", COLUMN))


def _if_of_several(found: Optional[Documents]) -> Optional[Documents]:
    """Returns the documents if they have several sentences on average."""
    if found is None or len(found.of_item) < _LEAST_MEAN_SIZE * found.number:
        return None
    return found


def _if_probable(found: Optional[Documents]) -> Optional[Documents]:
    """Returns the documents unless they may come from a few stray borders."""
    if found is None or found.number < _LEAST_DOCUMENTS:
        return None
    largest = max(Counter(found.of_item).values())
    return None if largest > _LARGEST_SHARE * len(found.of_item) else _if_of_several(found)


def _property(properties: Dict[str, Any], key: str) -> Optional[Hashable]:
    """Returns a property if it is a string or an integer; keys may be nested: `meta.doc_id`."""
    value: Any = properties
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, (str, int)) and value != "" else None
