"""Shows what was read from a file: sentences with their entities, examples, and what was not used."""

import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path
from types import MappingProxyType
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from tagger.common.console import Painted, Said
from tagger.common.inputs import PathOrAddress, is_address
from tagger.data.column_file import Row
from tagger.data.doubts import check_contents
from tagger.data.doubts.contents import MOST_TEXTS
from tagger.data.formats.annotated_text import (
    ASKED,
    OPEN,
    PLAIN_TAGS,
    AnnotatedText,
)
from tagger.data.reading import Reading
from tagger.data.survey.column_survey import ColumnSurvey, survey_columns
from tagger_compat.archive_guard import printable, shortened
from tagger_texts.display import label_colours, quoted

#: The usual name of the weights of texts, and how a reader uses them.
WEIGHT = "weight"
WEIGHS = "to weigh texts by it, set `weight: 'weight'` of the dataset reader"
#: How many sentences are shown, about how many characters of each, and how many before an entity.
_NUM_SHOWN, _WIDTH, _BEFORE = 2, 240, 80
#: The most labels with examples, and the most characters of an example.
_MOST_LABELS, _MOST_CHARACTERS = 8, 60
#: The most columns or keys that are named as not used.
_MOST_NAMED = 12
#: A column of words has more different cells than this, and than this share of its cells.
_FEWEST_WORDS, _SHARE_OF_WORDS = 5, 0.1
#: Tokens are words if this share of them has a letter; numbers if a smaller share has one.
_OF_WORDS, _OF_NUMBERS = 0.6, 0.3

ColouredText = Tuple[str, Optional[int]]


class LabelExamples(NamedTuple):
    """The longest and the most frequent entity of a label, and how often they occur."""

    label: str
    longest: str
    frequent: str
    num_frequent: int
    num: int

    def __str__(self) -> str:
        often = f"most frequent {quoted(self.frequent)} ({self.num_frequent:,} of {self.num:,})"
        return f"{self.label}: longest {quoted(self.longest)}, {often}"


def bracketed(texts: Sequence[AnnotatedText]) -> List[Painted]:
    """Returns the first sentences with entities, in brackets, such as `[Ann Lee PER] met Bob`.

    If there are no entities, the first texts are shown. Line feeds and control characters are escaped.
    """
    colours = label_colours(sorted({each.label for text in texts for each in text.entities}))
    pieces = itertools.chain.from_iterable(map(_pieces, texts))
    found = list(itertools.islice(pieces, _NUM_SHOWN))
    if not found:
        found = [(text, 0, min(len(text.text), _WIDTH)) for text in texts[:_NUM_SHOWN]]
    return [Painted(_parts(*piece, colours)) for piece in found]


def _pieces(text: AnnotatedText) -> Iterator[Tuple[AnnotatedText, int, int]]:
    """Yields parts of a text with entities: its lines, or what is around an entity in a long line."""
    end = 0
    for _, start, stop in text.entities:
        if start < end:
            continue
        begin = max(text.text.rfind("\n", end, start) + 1, end)
        if start - begin > _BEFORE:
            begin = max(text.text.rfind(" ", begin, start - _BEFORE) + 1, start - 2 * _BEFORE)
        line = text.text.find("\n", stop)
        end = len(text.text) if line < 0 else line
        if end - begin > _WIDTH:
            blank = text.text.find(" ", max(stop, begin + _WIDTH), end)
            end = min(end if blank < 0 else blank, max(stop, begin + 2 * _WIDTH))
        yield text, begin, end


def _parts(
    text: AnnotatedText, begin: int, end: int, colours: Dict[str, int]
) -> Iterator[ColouredText]:
    """Yields the text between two places with a bracket around each entity, and its label."""
    own = [each for each in text.entities if begin <= each.start < end]
    # At one place, what ends comes before what begins, and inner brackets are inside outer ones.
    ends = sorted((min(each.end, end), 0, -each.start, each.label) for each in own)
    starts = sorted((each.start, 1, -each.end, each.label) for each in own)
    at = begin
    if begin > 0:
        yield "... ", None
    for place, is_start, _, label in sorted([*ends, *starts]):
        yield _escaped(text.text[at:place]), None
        yield ("[", None) if is_start else (f" {shortened(label, 40)}", colours[label])
        if not is_start:
            yield "]", None
        at = place
    yield _escaped(text.text[at:end]), None
    if end < len(text.text.rstrip()):
        yield " ...", None


def _escaped(text: str) -> str:
    text = shortened(text, 2 * _WIDTH) if len(text) > 2 * _WIDTH else text
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def examples_of(texts: Iterable[AnnotatedText]) -> List[LabelExamples]:
    """Returns the longest and the most frequent entity of each label, most frequent label first."""
    counts: Dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for label, start, end in text.entities:
            counts[label][" ".join(text.text[start:end].split())] += 1
    return [
        LabelExamples(
            shortened(label, 40),
            shortened(max(own, key=len), _MOST_CHARACTERS),
            shortened(own.most_common(1)[0][0], _MOST_CHARACTERS),
            own.most_common(1)[0][1],
            sum(own.values()),
        )
        for label, own in sorted(counts.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    ]


class Evidence(NamedTuple):
    """What shows how a file was read: its first texts, and for a column file its layout.

    Attributes:
        path: The file, for messages.
        texts: The first texts or sentences, at most `MOST_TEXTS`.
        columns: The layout of a column file.
        sentences: Its lines.
    """

    path: object
    texts: Sequence[AnnotatedText]
    columns: Optional[ColumnSurvey] = None
    sentences: Sequence[Sequence[Row]] = ()

    def unused(self, used: Iterable[str] = ()) -> List[str]:
        """Names the columns or keys that were not used, except the numbers or names in `used`.

        Raises:
            ValueError: As `unused_columns` and `unused_keys`.
        """
        if self.columns is None:
            return unused_keys(self.texts, self.path, [*used])
        numbers = [int(each) for each in used if each.isdecimal()]
        return unused_columns(self.columns, self.sentences, numbers)

    def report(
        self,
        used: Iterable[str] = (),
        quiet: bool = False,
        doubts: Mapping[int, Optional[str]] = MappingProxyType({}),
    ) -> List[Said]:
        """Says what was not used, and shows sentences and examples unless `quiet`, and doubts.

        Further `doubts` are given by number.

        Raises:
            ValueError: If what was read cannot be right.
        """
        unused = self.unused(used)
        found = {**check_contents(self.texts, self.path), **doubts}
        return [
            ("not used", "; ".join(_first(unused, _MOST_NAMED, "others"))),
            *([] if quiet else self._shown()),
            *((f"doubt {number}", doubt) for number, doubt in found.items()),
        ]

    def _shown(self) -> List[Said]:
        examples = _first([*map(str, examples_of(self.texts))], _MOST_LABELS, "other labels")
        topic_of = ["examples"] * _MOST_LABELS + [""]
        return [*(("read", line) for line in bracketed(self.texts)), *zip(topic_of, examples)]


def _first(found: List[str], most: int, others: str) -> List[str]:
    more = len(found) - most
    return found[:most] + ([f"and {more:,} {others}"] if more > 0 else [])


def unused_columns(
    found: ColumnSurvey, sentences: Sequence[Sequence[Row]], used: Sequence[int] = ()
) -> List[str]:
    """Names the columns of a file that are neither tokens nor tags, with their sizes.

    Raises:
        ValueError: If one of them looks like tokens, and the column of tokens does not.
    """
    layout = found.layout
    taken = {layout.token, layout.tag, layout.sentence, *used}
    others = [i for i in range(layout.num_columns or 0) if i not in taken]
    rows = [row.columns for each in sentences[:MOST_TEXTS] for row in each]
    lettered = {i: _share_of_letters([row[i] for row in rows]) for i in (layout.token, *others)}
    if lettered[layout.token] < _OF_NUMBERS:
        for i in others:
            distinct = {row[i] for row in rows}
            if lettered[i] >= _OF_WORDS and len(distinct) > max(
                _FEWEST_WORDS, _SHARE_OF_WORDS * len(rows)
            ):
                raise ValueError(
                    f"{found.path}: the tokens in column {found.named(layout.token)} are numbers, such "
                    f"as {rows[0][layout.token]!r}, and column {found.named(i)} looks like words, such "
                    f"as {rows[0][i]!r}; take it by `--token-column {i}`"
                )
    names = dict(enumerate(found.header))
    return [
        f"column {found.named(i)}, {sum(bool(row[i]) for row in rows):,} cells such as "
        f"{shortened(next((row[i] for row in rows if row[i]), ''), 20)!r}{hint_of(names.get(i))}"
        for i in others
    ]


def hint_of(name: Optional[str]) -> str:
    """Says how an unused column or key is used, if it may hold the weights of sentences or texts."""
    return f" ({WEIGHS})" if name == WEIGHT else ""


def _share_of_letters(cells: Sequence[str]) -> float:
    return sum(any(map(str.isalpha, cell)) for cell in cells) / max(len(cells), 1)


def unused_keys(
    texts: Sequence[AnnotatedText], path: object, used: Sequence[str] = ()
) -> List[str]:
    """Names the keys of records that are neither text, tokens nor entities, with their sizes.

    Raises:
        ValueError: If no text has an entity, and a key looks like entities.
    """
    sizes: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for text in texts:
        for key, value in text.properties.items():
            if key not in (PLAIN_TAGS, ASKED, OPEN, *used):
                numbers[key] += 1
                sizes[key] += len(json.dumps(value, ensure_ascii=False, default=str).encode())
    if not any(text.entities for text in texts):
        for key in numbers:
            if any(_looks_like_spans(text.properties.get(key)) for text in texts):
                raise ValueError(
                    f"{path}: no text has an entity, but `{key}` looks like entities; rename it to "
                    "`spans`, or remove the key that is empty"
                )
    return [
        f"key {shortened(key, 40)}, in {number:,} texts, {sizes[key]:,} bytes{hint_of(key)}"
        for key, number in numbers.items()
    ]


def _looks_like_spans(value: Any) -> bool:
    """Whether a value is a list of lists or objects with two numbers and a string."""
    if not isinstance(value, list) or not value:
        return False
    cells = [
        [*each.values()] if isinstance(each, dict) else each
        for each in value
        if isinstance(each, (dict, list))
    ]
    return len(cells) == len(value) and all(
        sum(type(cell) is int for cell in each) >= 2 and any(isinstance(cell, str) for cell in each)
        for each in cells
    )


def evidence_of(
    texts: Sequence[AnnotatedText], path: PathOrAddress, format: str, reading: Reading
) -> Evidence:
    """Returns the evidence for a file; `texts` are the first ones that `read_texts` returns."""
    if format == "columns" and (is_address(path) or Path(path).is_file()):
        found = survey_columns(path, reading)
        return Evidence(path, texts, found, [*itertools.islice(found.sentences(), MOST_TEXTS)])
    return Evidence(path, texts)


class Watched:
    """Keeps the first texts that pass, and refuses them at the end, before a writer has finished."""

    def __init__(self, texts: Iterable[AnnotatedText], path: object) -> None:
        self._texts = texts
        self._path = path
        self.kept: List[AnnotatedText] = []

    def __iter__(self) -> Iterator[AnnotatedText]:
        for text in self._texts:
            if len(self.kept) < MOST_TEXTS:
                self.kept.append(text)
            yield text
        check_contents(self.kept, self._path)
