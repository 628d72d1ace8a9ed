"""brat: a text in a `.txt` file, and its entities in an `.ann` file beside it."""

import logging
import re
from pathlib import Path
from typing import Iterable, Iterator, List, Optional

from tagger.common.files import check_is_file, new_folder
from tagger.common.inputs import PathOrAddress
from tagger.data.formats.annotated_text import AnnotatedText, Annotation
from tagger.data.formats.offsets import RawEntity, checked_entities
from tagger.data.survey.text_encodings import decode

logger = logging.getLogger(__name__)


def read_brat(
    path: PathOrAddress,
    offsets: Optional[str] = None,
    labelled: bool = True,
    text_encoding: Optional[str] = None,
) -> Iterator[AnnotatedText]:
    """Reads a folder's texts, sorted by name, or a single text.

    Relations, events, attributes and notes are skipped and counted. If `labelled`, each text needs an
    `.ann` file.
    """
    path = Path(path)
    found = sorted(path.rglob("*.ann" if labelled else "*.txt")) if path.is_dir() else [path]
    if path.is_dir() and labelled:
        _check_pairs(path, found)
    num_left_out = 0
    for text_path in (each.with_suffix(".txt") for each in found):
        text, annotations = _read(text_path, text_encoding), text_path.with_suffix(".ann")
        is_annotated = labelled or annotations.exists()
        lines = _read(annotations, text_encoding).split("\n") if is_annotated else []
        entities = [
            _entity(line.rstrip("\r"), f"{annotations}:{number}")
            for number, line in enumerate(lines, start=1)
            if line.startswith("T")
        ]
        num_left_out += sum(bool(line.strip()) for line in lines) - len(entities)
        checked = checked_entities(text, entities, str(annotations), offsets)
        yield AnnotatedText(text, checked, None, None, str(text_path), {"name": text_path.stem})
    if num_left_out:
        logger.warning(
            "%s: left out %d relations, events, attributes and notes", path, num_left_out
        )


def _check_pairs(folder: Path, annotations: List[Path]) -> None:
    without = sorted({*folder.rglob("*.txt")} - {each.with_suffix(".txt") for each in annotations})
    if without or not annotations:
        raise ValueError(
            f"{without[0] if without else folder}: expected an .ann file beside each .txt file, got "
            f"{len(annotations)} of them; make an empty one for a text without entities"
        )


def _read(path: Path, text_encoding: Optional[str]) -> str:
    check_is_file(path)
    content = path.read_bytes()
    try:
        # Keep line ends and a byte order mark, because offsets count them.
        return content.decode(text_encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return decode(content, path, text_encoding)[0]


def _entity(line: str, place: str) -> RawEntity:
    """Reads a line, in which tabs surround `PER 0 3`."""
    parts = line.split("\t", 2)
    words = parts[1].split(" ") if len(parts) > 1 else []
    if ";" in "".join(words[1:]):
        raise ValueError(
            f"{place}: the entity has several parts, {' '.join(words[1:])}; make it one span in brat"
        )
    if len(words) != 3 or not all(re.fullmatch(r"\d{1,18}", word) for word in words[1:]):
        raise ValueError(f"{place}: expected an entity as `T1<tab>PER 0 3<tab>Ada`, got {line!r}")
    return RawEntity(words[0], int(words[1]), int(words[2]), *parts[2:])


def write_brat(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes a new folder of numbered texts, atomically."""
    with new_folder(path) as new:
        for number, text in enumerate(texts, start=1):
            lines = [_line(text, n, entity) for n, entity in enumerate(text.entities, start=1)]
            (new / f"{number:06}.txt").write_bytes(text.text.encode("utf-8"))
            (new / f"{number:06}.ann").write_bytes("".join(lines).encode("utf-8"))


def _line(text: AnnotatedText, number: int, entity: Annotation) -> str:
    label, start, end = entity
    if label.split() != [label]:
        raise ValueError(f"{text.place}: brat allows no blank in a label, got {label!r}; rename it")
    return f"T{number}\t{label} {start} {end}\t{' '.join(text.text[start:end].split())}\n"
