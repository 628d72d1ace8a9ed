"""Lists of files that each annotate some of the labels."""

import json
from os import PathLike, fspath
from pathlib import Path
from typing import Iterable, List, NamedTuple, Optional, Tuple, Union

#: The suffix of lists.
SUFFIX = ".files.json"


class ListedFile(NamedTuple):
    """A file in a list, and the labels annotated in it; None for all."""

    path: Path
    labels: Optional[Tuple[str, ...]]

    def __str__(self) -> str:
        return f"{self.path} ({'all labels' if self.labels is None else ', '.join(self.labels)})"


def listed_files(path: Union[str, PathLike]) -> Optional[List[ListedFile]]:
    """Returns the files in a list, with paths relative to it; None if a file is not a list.

    A list is JSON: `{"files": [{"path": "a.conll", "labels": ["PER", "LOC"]}, {"path": "b.conll"}]}`.

    Raises:
        ValueError: If its JSON has another form.
    """
    if not fspath(path).endswith(SUFFIX):
        return None
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    files = found.get("files") if isinstance(found, dict) else None
    if not isinstance(files, list) or not files or not all(map(_is_file, files)):
        raise ValueError(
            f'{path}: expected {{"files": [{{"path": "a.conll", "labels": ["PER"]}}, ...]}}, got '
            f"{found!r:.200}"
        )
    folder = Path(path).parent
    labels = (each.get("labels") for each in files)
    return [
        ListedFile(folder / each["path"], None if own is None else tuple(own))
        for each, own in zip(files, labels)
    ]


def list_of_files(files: Iterable[ListedFile]) -> str:
    """Returns the text of a list with these paths.

    Example:
        >>> print(list_of_files([ListedFile(Path("a.conll"), ("PER",))]))
        {"files": [{"path": "a.conll", "labels": ["PER"]}]}
    """
    entries = [
        {"path": str(path), **({} if labels is None else {"labels": labels})}
        for path, labels in files
    ]
    return json.dumps({"files": entries}, ensure_ascii=False)


def _is_file(entry: object) -> bool:
    if not isinstance(entry, dict) or not {"path"} <= entry.keys() <= {"path", "labels"}:
        return False
    labels = entry.get("labels", [])
    return isinstance(entry["path"], str) and isinstance(labels, (list, type(None)))
