"""Lists of files that each annotate some of the labels."""

import json
from os import PathLike, fspath
from pathlib import Path
from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from tagger.data.dataset_readers.instance_weights import parsed_weight

#: The suffix of lists.
SUFFIX = ".files.json"


class ListedFile(NamedTuple):
    """A file in a list, the labels annotated in it, None for all, and the weight of its instances."""

    path: Path
    labels: Optional[Tuple[str, ...]]
    weight: Optional[float] = None

    def __str__(self) -> str:
        return f"{self.path} ({'all labels' if self.labels is None else ', '.join(self.labels)})"


def listed_files(path: Union[str, PathLike]) -> Optional[List[ListedFile]]:
    """Returns the files in a list, with paths relative to it; None if a file is not a list.

    A list is JSON: `{"files": [{"path": "a.conll", "labels": ["PER", "LOC"]}, {"path": "b.conll"}]}`.
    A file may also have a `weight`, by which the weights of its instances are multiplied.

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
        ListedFile(
            folder / each["path"],
            None if own is None else tuple(own),
            parsed_weight(each["weight"], f"{path}: {each['path']}") if "weight" in each else None,
        )
        for each, own in zip(files, labels)
    ]


def with_weights(files: Sequence[ListedFile]) -> List[ListedFile]:
    """Returns the files with the weight 1 where others have one, so that all instances have weights."""
    if all(file.weight is None for file in files):
        return list(files)
    return [each._replace(weight=1.0) if each.weight is None else each for each in files]


def list_of_files(files: Iterable[ListedFile]) -> str:
    """Returns the text of a list with these paths.

    Example:
        >>> print(list_of_files([ListedFile(Path("a.conll"), ("PER",))]))
        {"files": [{"path": "a.conll", "labels": ["PER"]}]}
    """
    entries = [
        {
            "path": str(path),
            **({} if labels is None else {"labels": labels}),
            **({} if weight is None else {"weight": weight}),
        }
        for path, labels, weight in files
    ]
    return json.dumps({"files": entries}, ensure_ascii=False)


def _is_file(entry: object) -> bool:
    if not isinstance(entry, dict) or not {"path"} <= entry.keys() <= {"path", "labels", "weight"}:
        return False
    labels = entry.get("labels", [])
    return isinstance(entry["path"], str) and isinstance(labels, (list, type(None)))
