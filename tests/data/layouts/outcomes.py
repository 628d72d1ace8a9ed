"""How a file is understood: it is read rightly, refused, or read wrongly."""

import re
import shutil
from pathlib import Path
from typing import Callable, NamedTuple, Optional, Sequence

from tests.data.layouts.cases import Case
from tests.data.layouts.reading import (
    Content,
    documents_by_split,
    doubts_about,
    read_by_convert,
    read_by_start,
)

#: The names of outcomes, best first.
NAMES = ("right", "refused", "refused unclearly", "wrong")


class Outcome(NamedTuple):
    """`right`, `refused`, `refused unclearly` or `wrong`, and what was seen."""

    name: str
    said: str = ""


def outcome_of(case: Case, folder: Path) -> Outcome:
    """Writes the file and reads it in both ways; the worse outcome counts."""
    path = folder / case.name
    files = {"": case.content} if isinstance(case.content, bytes) else case.content
    for name, content in files.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(content)
    found = [_outcome(case, path, read) for read in (_by_start, _by_convert, _doubts, _documents)]
    path.unlink() if path.is_file() else shutil.rmtree(path)
    return max(found, key=lambda each: NAMES.index(each.name))


def _outcome(case: Case, path: Path, wrong: Callable[[Case, Path], Optional[str]]) -> Outcome:
    name = wrong.__name__
    try:
        said = wrong(case, path)
    except (ValueError, FileNotFoundError) as error:
        is_clear = case.refusal is None or re.search(case.refusal, str(error))
        return Outcome("refused" if is_clear else "refused unclearly", f"{name}: {error}")
    except Exception as error:  # a crash
        return Outcome("wrong", f"{name}: {error!r}")
    return Outcome("right") if said is None else Outcome("wrong", f"{name}: {said}")


def _by_start(case: Case, path: Path) -> Optional[str]:
    return _difference(read_by_start(path, **case.reading), case.truth)


def _by_convert(case: Case, path: Path) -> Optional[str]:
    return _difference(read_by_convert(path, **case.reading), case.truth)


def _doubts(case: Case, path: Path) -> Optional[str]:
    """Says whether a doubt is missing."""
    if case.doubt is None or case.doubt in doubts_about(path, **case.reading):
        return None
    return f"doubt {case.doubt} is not said"


def _documents(case: Case, path: Path) -> Optional[str]:
    """Says which document a split divides."""
    if case.document_of is None:
        return None
    parts = documents_by_split(path, **case.reading)
    if parts is None:
        return "no documents are told"
    pairs = {*zip(case.document_of, parts)}
    divided = [name for name, _ in pairs if sum(name == own for own, _ in pairs) > 1]
    return f"document {divided[0]} is divided" if divided else None


def _difference(found: Sequence[Content], truth: Sequence[Content]) -> Optional[str]:
    if list(found) == list(truth):
        return None
    if len(found) != len(truth):
        return f"{len(found)} texts, not {len(truth)}, the first {found[0]}"
    one, other = next(pair for pair in zip(found, truth) if pair[0] != pair[1])
    return f"got {one}, expected {other}"
