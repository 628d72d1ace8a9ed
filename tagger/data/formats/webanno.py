"""WebAnno TSV 3, which INCEpTION and WebAnno export: a document with its sentences, tokens and layers.

The user guide of INCEpTION, https://inception-project.github.io/documentation, describes it.
"""

import logging
import re
from itertools import accumulate
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from tagger.common.inputs import PathOrAddress, is_address
from tagger.data.formats.annotated_text import SEVERAL, AnnotatedText, Annotation
from tagger.data.reading import DETECTED, Reading
from tagger.data.text_encodings import decoded_lines, open_text

logger = logging.getLogger(__name__)

#: What WebAnno and INCEpTION call a document's annotations before anybody has made one.
_NOBODY = "INITIAL_CAS"
#: How files begin.
OPENING = "#FORMAT=WebAnno TSV 3"
#: The preferred feature, and those that hold no entities.
_ENTITIES = "NamedEntity.value"
_OTHERS = re.compile(r"(POS|Lemma|Stem|MorphologicalFeatures|SurfaceForm)\b.*|.*\.identifier")
_ROW = re.compile(r"\d+-\d+(\.\d+)?\t(\d+)-(\d+)\t")
_PARTS = re.compile(r"(?:\\.|[^\\|])+")
#: A value, with the number of its annotation if that covers several tokens or if there are others.
_VALUE = re.compile(r"(.*?)(?:(?<!\\)\[(\d+)\])?")
_ESCAPE, _SPELLED = re.compile(r"\\(.)"), {"t": "\t", "n": "\n", "r": "\r"}


class _TokenLine(NamedTuple):
    """A token or a part of one; offsets are in UTF-16 units."""

    place: str
    is_token: bool
    start: int
    end: int
    form: str
    values: List[str]


class _Sentence(NamedTuple):
    text: str
    rows: List[_TokenLine]


def read_webanno(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads the document of a file, or those of a folder.

    Entities are the values of `NamedEntity`, or else of the feature of a layer of spans that has the
    most. `tag_column` names another one, such as `Skill.kind` or `Skill`. The annotations of a layer
    without features have its name as their label.
    """
    if not is_address(path) and Path(path).is_dir():
        users = users_in(Path(path))
        if users:
            logger.warning(
                "%s: documents have a file for each annotator, which are all read, so texts repeat; %s",
                *(path, SEVERAL),
            )
        for each in users or documents_in(path):
            yield from read_webanno(each, reading)
        return
    columns, sentences = _read(path, reading.text_encoding)
    if not sentences:
        raise ValueError(f"{path}: expected sentences in WebAnno TSV, got none")
    text, place_of = _text(sentences)
    rows = [row for sentence in sentences for row in sentence.rows]
    tokens = [(place_of[row.start], place_of[row.end]) for row in rows if row.is_token]
    lengths = [sum(row.is_token for row in sentence.rows) for sentence in sentences]
    entities = []
    if reading.labelled:
        name = _chosen(columns, rows, reading.key, path)
        for label, start, end in _annotations(rows, columns.index(name), name):
            entities.append(Annotation(label, place_of[start], place_of[end]))
    entities.sort(key=lambda each: each[1:])
    name = Path(path).stem
    yield AnnotatedText(text, entities, tokens, lengths, rows[0].place, {"name": name})


def documents_in(folder: PathOrAddress) -> List[Path]:
    """Returns the files of a folder and its subfolders that begin as WebAnno's do, sorted."""
    found = []
    for path in sorted(Path(folder).rglob("*.tsv")):
        with path.open("rb") as file:
            if file.read(64).removeprefix(b"\xef\xbb\xbf").startswith(OPENING.encode()):
                found.append(path)
    return found


def users_in(folder: Path) -> List[Path]:
    """Returns the files of a folder with a subfolder for each document and a file for each user in it.

    Returns none if the folder does not look like this: no document has several files.
    """
    paths = [path for path in documents_in(folder) if path.stem != _NOBODY]
    is_nested = all(path.parent != folder for path in paths)
    return paths if is_nested and len({path.parent for path in paths}) < len(paths) else []


def _read(
    path: PathOrAddress, text_encoding: Optional[str]
) -> Tuple[List[Optional[str]], List[_Sentence]]:
    """Returns the names of the columns, None for those of relations, and the sentences."""
    columns: List[Optional[str]] = []
    sentences: List[_Sentence] = []
    lines: List[str] = []
    with open_text(path, text_encoding) as (file, _):
        for number, line in decoded_lines(file, path):
            if line.startswith("#T_"):
                layer, *features = line[6:].split("|")
                names = [".".join(filter(None, (layer.split(".")[-1], each))) for each in features]
                columns += names if line.startswith("#T_SP=") else [None] * len(names)
            elif line.startswith("#Text="):
                lines.append(_unescaped(line.removeprefix("#Text=")))
            elif line.strip() and not line.startswith("#"):
                row = _row(line, f"{path}:{number}", len(columns))
                if lines or not sentences:
                    sentences.append(_Sentence("\n".join(lines), []))
                    lines = []
                sentences[-1].rows.append(row)
    return columns, sentences


def _row(line: str, place: str, num_columns: int) -> _TokenLine:
    found = _ROW.match(line)
    form, *values = line[found.end() :].split("\t") if found else ["", ""]
    # Lines end with a tab.
    values = values[:-1] if values and not values[-1] else values
    if found is None or len(values) != num_columns:
        raise ValueError(
            f"{place}: expected the number of a token, its offsets, the token and {num_columns} values "
            f"of the layers, separated by tabs, got {line!r}"
        )
    start, end = int(found[2]), int(found[3])
    return _TokenLine(place, found[1] is None, start, end, _unescaped(form), values)


def _text(sentences: List[_Sentence]) -> Tuple[str, Dict[int, int]]:
    """Returns the document's text, and the code point at each offset in UTF-16 units."""
    text, length = "", 0
    for sentence in sentences:
        first = sentence.rows[0]
        before = sentence.text.partition(first.form)[0]
        gap = first.start - _num_units(before) - length
        # What is between sentences is not in the file.
        text += " " * gap + sentence.text
        length += gap + _num_units(sentence.text)
    units = accumulate((_num_units(character) for character in text), initial=0)
    place_of = {unit: place for place, unit in enumerate(units)}
    for row in (row for sentence in sentences for row in sentence.rows):
        start, end = place_of.get(row.start), place_of.get(row.end)
        if start is None or end is None or text[start:end] != row.form:
            raise ValueError(
                f"{row.place}: expected {row.form!r} at {row.start}-{row.end}, got "
                f"{text[start or 0 : end]!r}; correct the offsets or the text of the sentence"
            )
    return text, place_of


def _chosen(
    columns: List[Optional[str]],
    rows: List[_TokenLine],
    tag_column: Optional[str],
    path: PathOrAddress,
) -> str:
    names = [name for name in columns if name is not None]
    if tag_column is not None:
        found = [name for name in names if tag_column in (name, *name.split("."))]
        if not found:
            raise ValueError(
                f"{path}: `tag_column` is {tag_column!r}, expected one of {', '.join(names)}"
            )
        return found[0]
    counts = {
        name: sum(row.values[columns.index(name)] != "_" for row in rows)
        for name in names
        if not _OTHERS.fullmatch(name)
    }
    if not counts:
        raise ValueError(
            f"{path}: expected a layer of spans, got {', '.join(names) or 'no layer'}; name one by "
            "`tag_column` (`--tag-column`)"
        )
    return _ENTITIES if counts.get(_ENTITIES) else max(counts, key=lambda name: counts[name])


def _annotations(rows: List[_TokenLine], column: int, name: str) -> Iterator[Tuple[str, int, int]]:
    """Yields the labels, starts and ends of annotations, in UTF-16 units."""
    numbered: Dict[str, Tuple[str, int, int]] = {}
    for row in rows:
        parts = _PARTS.findall(row.values[column]) if row.values[column] != "_" else []
        for part in parts:
            found = _VALUE.fullmatch(part)
            assert found is not None
            label = _unescaped(found[1])
            if label == "*":
                layer, _, feature = name.partition(".")
                if feature:
                    raise ValueError(
                        f"{row.place}: expected a value of {name}, got none; give the annotation a "
                        "value, or name another feature by `tag_column` (`--tag-column`)"
                    )
                label = layer
            if found[2] is None:
                yield label, row.start, row.end
            else:
                _, start, end = numbered.get(found[2], (label, row.start, row.end))
                numbered[found[2]] = label, min(start, row.start), max(end, row.end)
    yield from numbered.values()


def _num_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _SPELLED.get(match[1], match[1]), text)
