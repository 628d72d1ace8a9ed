"""How a file is understood: it is read rightly, refused, or read wrongly."""

import re
from pathlib import Path
from typing import List, NamedTuple, Sequence

from tests.data.layouts.cases import Case
from tests.data.layouts.reading import Content, read_by_convert, read_by_start


class Outcome(NamedTuple):
    """`right`, `refused`, `refused unclearly` or `wrong`, and what was seen."""

    name: str
    said: str = ""


def outcome_of(case: Case, folder: Path) -> Outcome:
    """Writes the file and reads it in both ways; the worse outcome counts."""
    path = folder / case.name
    path.write_bytes(case.content)
    found = [_outcome(case, path, read) for read in (read_by_start, read_by_convert)]
    path.unlink()
    return max(
        found, key=lambda each: ("right", "refused", "refused unclearly", "wrong").index(each.name)
    )


def _outcome(case: Case, path: Path, read) -> Outcome:
    try:
        contents = read(path, **case.reading)
    except (ValueError, FileNotFoundError) as error:
        is_clear = case.refusal is None or re.search(case.refusal, str(error))
        return Outcome("refused" if is_clear else "refused unclearly", f"{read.__name__}: {error}")
    except Exception as error:  # a crash
        return Outcome("wrong", f"{read.__name__}: {error!r}")
    if _joined(contents) == _joined(case.truth):
        return Outcome("right")
    return Outcome("wrong", f"{read.__name__}: {_difference(contents, case.truth)}")


def _joined(contents: Sequence[Content]) -> List[Content]:
    return list(contents)


def _difference(found: Sequence[Content], truth: Sequence[Content]) -> str:
    if len(found) != len(truth):
        return f"{len(found)} texts, not {len(truth)}, the first {found[0]}"
    one, other = next(pair for pair in zip(found, truth) if pair[0] != pair[1])
    return f"got {one}, expected {other}"
