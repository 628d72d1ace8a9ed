"""Finds the documents that a file's sentences or texts belong to.

Splits, folds and resampling all use this, so that none of them divides a document.
"""

import re
from collections import Counter
from itertools import accumulate, groupby, pairwise
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Dict, Hashable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

from tagger.common.inputs import PathOrAddress, is_address
from tagger.data.column_file import Row, is_docstart
from tagger.data.formats import AnnotatedText
from tagger.data.formats.annotated_text import (
    DOCUMENT,
    DOCUMENT_KEYS,
    OUTER_KEYS,
    document_property,
)
from tagger.data.reading import Reading
from tagger.data.survey.column_survey import ColumnSurvey, survey_columns

#: Values of `--documents`, by what marks documents.
DOCSTART, COMMENTS, BLANK_LINES = "docstart", "comments", "blank_lines"
TEXTS, NONE = "texts", "none"
#: A comment that begins a document, and one that names the document of the following sentences.
_NEW_DOCUMENT = re.compile(
    r"#\s*(newdoc\b|begin document\b|new document\b)|<(doc|document|text)\b", re.IGNORECASE
)
_NAMED_DOCUMENT = re.compile(r"#\s*(\w+::?)?(document|doc)([ _-]?id)?\s*[:=]", re.IGNORECASE)
#: What may stand between one of these, or `-DOCSTART-`, and the name of the document.
_BEFORE_NAME = re.compile(r"([ _-]?id)?[\s:=]*", re.IGNORECASE)
#: Cells of `-DOCSTART-` lines that name nothing.
_PLACEHOLDERS = frozenset(["-X-", "X", "O", "_", "-", "-DOCSTART-"])
#: Texts with this many characters on average are documents: a sentence has about 120.
_LONG = 500
#: Uncertain borders count if documents have this many sentences on average, if there are this many
#: documents, and if none has a larger share of the file.
_LEAST_MEAN_SIZE, _LEAST_DOCUMENTS, _LARGEST_SHARE = 1.5, 5, 0.5


class Documents(NamedTuple):
    """The documents of a file.

    Attributes:
        told_by: What marks documents, for messages: "`-DOCSTART-` lines".
        how: The value of `--documents` that marks them so.
        of_item: The document number of each sentence or text, from 0. What has one name has one number,
            wherever it stands.
        names: The name of each document that has one, by number.
    """

    told_by: str
    how: str
    of_item: List[int]
    names: Mapping[int, str] = MappingProxyType({})

    @property
    def number(self) -> int:
        """How many documents there are."""
        return max(self.of_item, default=-1) + 1

    def name_of(self, item: int) -> str:
        """Returns the name of an item's document, or else its number from 1."""
        number = self.of_item[item]
        return self.names.get(number, str(number + 1))


def joined_documents(of_files: Sequence[Documents]) -> Documents:
    """Joins the documents of several files.

    Example:
        >>> files = [Documents("a column", "column", numbers) for numbers in ([0, 1], [0, 0])]
        >>> joined_documents(files).of_item
        [0, 1, 2, 2]
    """
    firsts = accumulate((each.number for each in of_files), initial=0)
    of_item = [first + n for first, each in zip(firsts, of_files) for n in each.of_item]
    return of_files[0]._replace(of_item=of_item, names={})


def documents_of_rows(
    sentences: Sequence[Sequence[Row]],
    gaps: Sequence[Sequence[str]],
    name: Union[str, PathLike],
    others: Sequence[int] = (),
    how: Optional[str] = None,
    header: Sequence[str] = (),
) -> Optional[Documents]:
    """Finds the documents of a column file; None if nothing marks at least two of them.

    `gaps` are the lines between the sentences, `others` the columns of tokens and tags, and `header` the
    names of the columns, if any. `how` says what marks documents: `docstart`, `comments`, `blank_lines`,
    the number of a column, or `none`; by default the first that the file has of `-DOCSTART-` lines;
    comments such as `# newdoc` or `# doc_id = 5`; a column that the header names as one of
    `DOCUMENT_KEYS`; a column with a name that several sentences share; a column of offsets that start
    again; two or more blank lines in a row.
    """
    num_columns = len(sentences[0][0].columns)
    if how is None:
        free = sorted(set(range(num_columns)) - {each % num_columns for each in others})
        found = (
            *(_by_gaps(gaps, each) for each in (DOCSTART, COMMENTS)),
            *(_by_names(sentences, column, header) for column in free),
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
    return _named([rows[0].columns[column] for rows in sentences], f"column {column}", str(column))


def documents_of_columns(found: ColumnSurvey, how: Optional[str] = None) -> Optional[Documents]:
    """Finds the documents of a surveyed column file, see `documents_of_rows`."""
    sentences, gaps, _ = found.sentences_and_gaps()
    used = [each for each in (found.layout.token, found.layout.tag) if each is not None]
    return documents_of_rows(sentences, gaps, str(found.path), used, how, found.header)


def with_documents(
    texts: Iterator[AnnotatedText], path: PathOrAddress, reading: Reading
) -> Iterator[AnnotatedText]:
    """Gives the sentences of a column file their document as a property, if the file marks any.

    Pipes, which can be read only once, are left alone.
    """
    if not is_address(path) and not Path(path).is_file():
        return texts
    told = documents_of_columns(survey_columns(path, reading))
    if told is None:
        return texts
    return (
        text._replace(properties={**text.properties, DOCUMENT: told.name_of(number)})
        for number, text in enumerate(texts)
    )


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
        values = [document_property(text, how) for text in texts]
        if None in values:
            place = texts[values.index(None)].place
            raise ValueError(
                f"{place}: `--documents` names `{how}`, which this text lacks; name a key that each "
                f"text of {name} has, or `{TEXTS}` if each text is a document, or `{NONE}`"
            )
        return _named(values, f"`{how}`", how)
    return _by_key(texts) or _by_form(texts, format)


def _by_key(texts: Sequence[AnnotatedText]) -> Optional[Documents]:
    outer_keys = (f"{outer}.{key}" for outer in OUTER_KEYS for key in DOCUMENT_KEYS)
    for key in (*DOCUMENT_KEYS, *outer_keys):
        values = [document_property(text, key) for text in texts]
        known = [value for value in values if value is not None]
        if len(set(known)) > 1 and 2 * len(known) >= len(values):
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


def _named(values: Sequence[Optional[Hashable]], told_by: str, how: str) -> Documents:
    """Makes a document of what has one name; each value that is None is a document by itself."""
    numbers: Dict[Hashable, int] = {}
    keys = [("", at) if value is None else value for at, value in enumerate(values)]
    of_item = [numbers.setdefault(each, len(numbers)) for each in keys]
    names = {n: str(value) for n, value in zip(of_item, values) if value is not None}
    return Documents(told_by, how, of_item, names)


def _bordered(
    starts: Sequence[bool], told_by: str, how: str, names: Sequence[Optional[str]] = ()
) -> Optional[Documents]:
    """Makes documents that start where `starts` is true; the first sentence always starts one.

    Those with one name, among the `names` of sentences, are one document.
    """
    runs = list(accumulate(starts[1:], initial=0))
    of_run: Dict[int, str] = {}
    for run, name in zip(runs, names):
        if name:
            of_run.setdefault(run, name)
    keys = [of_run.get(run, run) for run in runs]
    numbers: Dict[Union[int, str], int] = {}
    of_item = [numbers.setdefault(each, len(numbers)) for each in keys]
    told = {number: key for key, number in numbers.items() if isinstance(key, str)}
    return Documents(told_by, how, of_item, told) if len(numbers) > 1 else None


class _Borders(NamedTuple):
    """Whether a document starts before each sentence, and the name that it gets there, if any."""

    starts: List[bool]
    names: Sequence[Optional[str]] = ()


def _docstarts(gaps: Sequence[Sequence[str]]) -> _Borders:
    starts = [any(map(is_docstart, gap)) for gap in gaps]
    for name_of in (_docstart_name, lambda gap: _comments([gap]).names[0]):
        names = [name_of(gap) if is_start else None for gap, is_start in zip(gaps, starts)]
        # Cells that all lines share name no document.
        if len(set(names) - {None}) > 1:
            return _Borders(starts, names)
    return _Borders(starts)


def _docstart_name(gap: Sequence[str]) -> Optional[str]:
    line = next(line for line in reversed(gap) if is_docstart(line))
    cells = re.split(r"[\s,;|\"]+", line.partition("-DOCSTART-")[2])
    named = " ".join(each for each in cells if each and each not in _PLACEHOLDERS)
    return named.removeprefix("(").removesuffix(")") or _comments([gap]).names[0]


def _blank_lines(gaps: Sequence[Sequence[str]]) -> _Borders:
    return _Borders([sum(not line.strip() for line in gap) > 1 for gap in gaps])


def _comments(gaps: Sequence[Sequence[str]]) -> _Borders:
    """Finds comments that begin a document or name a new one."""
    starts: List[bool] = []
    names: List[Optional[str]] = []
    last: Optional[str] = None
    for gap in gaps:
        name, is_new = None, False
        for line in map(str.strip, gap):
            found = _NEW_DOCUMENT.match(line) or _NAMED_DOCUMENT.match(line)
            if found:
                is_new |= found.re is _NEW_DOCUMENT
                own = _BEFORE_NAME.sub("", line[found.end() :], count=1)
                name = own.partition("; part ")[0] or name  # of one document in CoNLL-2012
        starts.append(is_new or (name is not None and name != last))
        names.append(name)
        last = name if name is not None or is_new else last
    return _Borders(starts, names)


#: Kinds of borders in the lines before a sentence, with their names for messages, and their detectors.
_BORDERS = {
    DOCSTART: ("`-DOCSTART-` lines", _docstarts),
    COMMENTS: ("comments", _comments),
    BLANK_LINES: ("double blank lines", _blank_lines),
}


def _by_gaps(gaps: Sequence[Sequence[str]], how: str) -> Optional[Documents]:
    told_by, borders_of = _BORDERS[how]
    starts, names = borders_of(gaps)
    return _bordered(starts, told_by, how, names)


def _by_names(
    sentences: Sequence[Sequence[Row]], column: int, header: Sequence[str]
) -> Optional[Documents]:
    """Finds documents by a column of names that are constant within sentences.

    Names that come back must be in a column for documents, or look like identifiers, since sentences are
    also numbered within documents, and have topics.
    """
    if any(len({row.columns[column] for row in rows}) > 1 for rows in sentences):
        return None
    names = [rows[0].columns[column] for rows in sentences]
    found = _named(names, f"column {column}", str(column))
    if found.number == 1:
        return None
    if header and header[column].strip().lower() in DOCUMENT_KEYS:
        return found
    if all(len(rows) == 1 for rows in sentences):
        return None
    if len([*groupby(names)]) == found.number:
        return _if_of_several(found)
    are_identifiers = all(not name.isdecimal() and re.search(r"\d", name) for name in set(names))
    return _if_probable(found) if are_identifiers else None


def _by_offsets(sentences: Sequence[Sequence[Row]], column: int) -> Optional[Documents]:
    """Finds documents by a column of offsets that grow within sentences and start again at times."""
    places = [[row.columns[column] for row in rows] for rows in sentences]
    if not all(place.isdecimal() for each in places for place in each):
        return None
    numbers = [list(map(int, each)) for each in places]
    if any(one >= other for each in numbers for one, other in pairwise(each)):
        return None
    starts = [each[0] <= last[-1] for last, each in zip([[-1], *numbers], numbers)]
    return _if_of_several(
        _bordered(starts, f"restarts of the numbers in column {column}", str(column))
    )


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
