"""CoNLL-2012's column files, as OntoNotes 5 is distributed for coreference: brackets around entities."""

import re
from typing import Any, Dict, Iterator, List, Tuple

from tagger.common.inputs import PathOrAddress
from tagger.data.formats.annotated_text import AnnotatedText, Annotation
from tagger.data.joined_text import join_tokens
from tagger.data.reading import DETECTED, Reading
from tagger.data.text_encodings import decoded_lines, open_text

#: How a document begins; without this line, the first two columns tell it.
_DOCUMENT = re.compile(r"#begin document \(?(.*?)\)?;? part 0*(\d+)")
#: The columns of words and of entities, and what a cell of the latter may be.
_WORD, _ENTITY = 3, 10
_CELL = re.compile(r"(\([^()*\s]+)*\*?\)*")


def is_conll2012(lines: List[str]) -> bool:
    """Whether the first line of a token has the columns of this format."""
    row = next((line.split() for line in lines if line.strip() and line[0] != "#"), [])
    is_entity = len(row) > _ENTITY + 1 and _CELL.fullmatch(row[_ENTITY]) is not None
    numbers = "".join(row[1:3]).isdecimal()
    return is_entity and numbers and row[_ENTITY][:1] in ("(", "*")


def read_conll2012(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads each sentence as a text, with the `doc_id` of its document; entities may be nested.

    The parts of a document have one `doc_id`.
    """
    told: Dict[str, Any] = {}
    rows: List[Tuple[str, List[str]]] = []
    with open_text(path, reading.text_encoding) as (file, _):
        for number, line in decoded_lines(file, path):
            if line.startswith("#"):
                found = _DOCUMENT.match(line)
                told = {"doc_id": found[1], "part": int(found[2])} if found else told
            elif line.strip():
                rows.append((f"{path}:{number}", line.split()))
            elif rows:
                yield _text(rows, told, reading.labelled)
                rows = []
        if rows:
            yield _text(rows, told, reading.labelled)


def _text(
    rows: List[Tuple[str, List[str]]], properties: Dict[str, Any], labelled: bool
) -> AnnotatedText:
    for place, cells in rows:
        if len(cells) <= _ENTITY or not _CELL.fullmatch(cells[_ENTITY]):
            raise ValueError(
                f"{place}: expected CoNLL-2012's columns with entities such as `(PERSON*` in column "
                f"{_ENTITY}, got {' '.join(cells)!r:.80}; correct the line"
            )
    first = rows[0][1]
    properties = properties or {"doc_id": first[0], "part": first[1]}
    text, places = join_tokens([cells[_WORD] for _, cells in rows])
    entities, open_ones = [], list[Tuple[str, int]]()
    for (place, cells), (start, end) in zip(rows, places):
        cell = cells[_ENTITY]
        open_ones += [(label, start) for label in re.findall(r"\(([^()*]+)", cell)]
        for _ in range(cell.count(")")):
            if not open_ones:
                raise ValueError(
                    f"{place}: a bracket closes no entity in {cell!r}; correct the line"
                )
            label, begin = open_ones.pop()
            entities.append(Annotation(label, begin, end))
    if open_ones:
        raise ValueError(f"{rows[0][0]}: an entity {open_ones[-1][0]} does not end in its sentence")
    entities = sorted(entities, key=lambda each: each[1:]) if labelled else []
    return AnnotatedText(text, entities, places, [len(rows)], rows[0][0], properties)
