"""brat: a text in a `.txt` file, and its entities in an `.ann` file beside it."""

import contextlib
import logging
import re
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Optional, Tuple

from tagger.common.files import check_is_file, new_folder
from tagger.common.inputs import PathOrAddress
from tagger.data.formats.annotated_text import SEVERAL, AnnotatedText, Annotation
from tagger.data.formats.offsets import RawEntity, checked_entities
from tagger.data.reading import DETECTED, Reading
from tagger.data.text_encodings import decode

logger = logging.getLogger(__name__)

#: A byte order mark.
_MARK = "\ufeff"
_PART = r"\d{1,18}[ \t]\d{1,18}"
#: The label, the offsets of the parts, and their words.
_LINE = re.compile(rf"[^\t]*\t([^\t ]*)[ \t]({_PART}(?:;{_PART})*)(?:\t(.*))?", re.DOTALL)


def read_brat(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads a folder's texts, sorted by name, or a single text.

    Relations, events, attributes and notes are skipped and counted. An entity in several parts becomes
    one, from its first part to its last; those that gain words are counted. If they are
    labelled, each text needs an `.ann` file.
    """
    path = Path(path)
    pattern = "*.ann" if reading.labelled else "*.txt"
    found = sorted(path.rglob(pattern)) if path.is_dir() else [path]
    if path.is_dir() and reading.labelled:
        _check_pairs(path, found)
    if path.is_dir() and users_in(path):
        logger.warning(
            "%s: there is a folder for each annotator, which are all read, so texts repeat; %s",
            *(path, SEVERAL),
        )
    num_left_out, widened = 0, []
    for text_path in (each.with_suffix(".txt") for each in found):
        text, annotations = _read(text_path, reading.text_encoding), text_path.with_suffix(".ann")
        is_annotated = reading.labelled or annotations.exists()
        content = _read(annotations, reading.text_encoding) if is_annotated else ""
        lines = content.removeprefix(_MARK).split("\n")
        entities = [
            _entity(line.rstrip("\r"), f"{annotations}:{number}")
            for number, line in enumerate(lines, start=1)
            if line.startswith("T")
        ]
        num_left_out += sum(bool(line.strip()) for line in lines) - len(entities)
        text, checked = _checked(
            text, [each.raw for each in entities], annotations, reading.offsets
        )
        entities.sort(key=lambda each: each.raw[1:3])
        widened += [
            f"{annotations}: {text[new.start : new.end]!r}, of which {each.parts!r} was marked"
            for each, new in zip(entities, checked)
            if each.parts is not None and each.parts.split() != text[new.start : new.end].split()
        ]
        yield AnnotatedText(text, checked, None, None, str(text_path), {"name": text_path.stem})
    if widened:
        logger.warning(
            "%s: %d entities in several parts became one each, with the words between the parts, "
            "such as in %s",
            *(path, len(widened), widened[0]),
        )
    if num_left_out:
        logger.warning(
            "%s: left out %d relations, events, attributes and notes", path, num_left_out
        )


def users_in(folder: PathOrAddress) -> List[Path]:
    """Returns a folder's subfolders, one for each annotator, if several have the same text."""
    folders = [each for each in sorted(Path(folder).glob("*/")) if any(each.rglob("*.ann"))]
    found = [
        (path.relative_to(each), path.read_bytes())
        for each in folders
        for path in each.rglob("*.txt")
    ]
    return folders if len(set(found)) < len(found) else []


def _check_pairs(folder: Path, annotations: List[Path]) -> None:
    without = sorted({*folder.rglob("*.txt")} - {each.with_suffix(".txt") for each in annotations})
    if without or not annotations:
        raise ValueError(
            f"{without[0] if without else folder}: expected an .ann file beside each .txt file, got "
            f"{len(annotations)} of them; make an empty one for a text without entities, and move other "
            "files, such as a README, out of the folder"
        )


def _read(path: Path, text_encoding: Optional[str]) -> str:
    other = path.with_suffix(".ann" if path.suffix == ".txt" else ".txt")
    if not path.exists() and other.exists():
        raise ValueError(f"{other}: expected {path.name} beside it; copy it into the folder")
    check_is_file(path)
    content = path.read_bytes()
    try:
        # Keep line ends and a byte order mark, because offsets count them.
        return content.decode(text_encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return decode(content, path, text_encoding)[0]


def _checked(
    text: str, entities: List[RawEntity], place: Path, offsets: Optional[str]
) -> Tuple[str, List[Annotation]]:
    """Returns the text and its entities, changed if offsets and words are right only then.

    Git, for example, may turn line ends into CR LF after the annotation, and editors may add a byte
    order mark.
    """
    as_annotated = text.removeprefix(_MARK)
    ways = dict.fromkeys((text, as_annotated, as_annotated.replace("\r\n", "\n")))
    for each in ways:
        with contextlib.suppress(ValueError):
            return each, checked_entities(each, entities, str(place), offsets)
    return text, checked_entities(text, entities, str(place), offsets)


class _BratEntity(NamedTuple):
    """An entity, and if it has several parts, their words."""

    raw: RawEntity
    parts: Optional[str] = None


def _entity(line: str, place: str) -> _BratEntity:
    """Reads a line, in which tabs surround `PER 0 3`, or `PER 0 3;8 12` for several parts.

    Some tools write tabs in place of these blanks.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"{place}: expected an entity as `T1<tab>PER 0 3<tab>Ada`, got {line!r}")
    label, offsets, quote = found.groups()
    numbers = [int(number) for number in re.findall(r"\d+", offsets)]
    if len(numbers) == 2:
        return _BratEntity(RawEntity(label, numbers[0], numbers[1], quote))
    return _BratEntity(RawEntity(label, min(numbers[::2]), max(numbers[1::2])), quote or "")


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
