"""Joins what several sources say about the same texts, from one file or from several."""

import difflib
import itertools
import operator
from bisect import bisect_left
from collections import Counter, defaultdict
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from tagger.common.inputs import is_address
from tagger.data.formats import AnnotatedText, Annotation, format_of, recognise
from tagger.data.formats.annotated_text import PLAIN_TAGS, SOURCE
from tagger.data.formats.annotators import read_sources
from tagger.data.formats.json_files import read_records
from tagger.data.formats.record_keys import ANNOTATOR_KEYS
from tagger.data.reading import DETECTED, Column, Reading
from tagger.data.sources.annotations import SourcedText, read_annotations
from tagger.data.splitting.documents import with_documents

#: Texts of the same `id` are versions of one text if they share this much of their words.
_SAME = 0.6

#: The characters of a text, and how often the source has had them.
_Key = Tuple[str, int]


class _Read(NamedTuple):
    """A text as one source annotated it."""

    source: str
    text: AnnotatedText


def join_sources(
    inputs: Sequence[str], reading: Reading = DETECTED, tag_columns: Sequence[Column] = ()
) -> List[SourcedText]:
    """Reads files that hold the annotations of several sources, or of one source each.

    Texts are joined by their characters, but for white space: files may leave texts out, order them
    differently, and have other tokens. If a source has a text several times, the second belongs to the
    second of others. The first to have a text gives its tokens and sentences.

    Args:
        inputs: Files, or folders of them: `NAME=PATH` names the source of a file. Otherwise the source
            is the file's folder in a folder that is given, or who the file says, or the file's name.
            `write_annotations` writes such files, too.
        reading: How to read all files.
        tag_columns: The columns of a source each, see `read_sources`.

    Raises:
        ValueError: If a text is malformed, or if two texts are versions of one that differ.
    """
    paths = [each for given in inputs for each in _named_files(given, reading.format)]
    if reading.format is None and [name for name, _ in paths] == [None] and _is_joined(paths[0][1]):
        return list(read_annotations(paths[0][1]))
    joined: Dict[_Key, SourcedText] = {}
    order: Dict[str, List[_Key]] = defaultdict(list)
    nums: Counter[Tuple[str, str]] = Counter()
    read = (_read(*each, reading, tag_columns) for each in _with_defaults(paths))
    for source, text in itertools.chain.from_iterable(read):
        characters = "".join(text.text.split())
        nums[source, characters] += 1
        key = characters, nums[source, characters]
        order[source].append(key)
        own = joined.setdefault(key, SourcedText(text._replace(entities=[]), {}))
        own.annotations[source] = [*moved(text, own.text)]
    _check_versions(joined, order)
    return list(joined.values())


def _named_files(given: str, format: Optional[str]) -> List[Tuple[Optional[str], str]]:
    """Returns the files of an argument, with the name of their source if it is given."""
    name, equals, path = given.partition("=") if not Path(given).exists() else ("", "", given)
    name, path = (name, path) if equals else ("", given)
    if not path or (not is_address(path) and not Path(path).exists()):
        raise FileNotFoundError(f"{path}: there is no such file; name files as FILE or NAME=FILE")
    is_folder = not is_address(path) and Path(path).is_dir()
    if name or not is_folder or format or recognise(path):
        return [(name or None, path)]
    return [each for own in sorted(Path(path).iterdir()) for each in _of_folder(own)]


def _of_folder(path: Path) -> Iterator[Tuple[Optional[str], str]]:
    """Yields a file of a folder, or the files of a folder in it, with its name as the source."""
    if path.name.startswith("."):
        return
    if path.is_file():
        yield None, str(path)
    elif recognise(path):
        yield path.name, str(path)
    else:
        for each in sorted(path.iterdir()):
            if each.is_file() and not each.name.startswith("."):
                yield path.name, str(each)


def _with_defaults(
    paths: Sequence[Tuple[Optional[str], str]],
) -> Iterator[Tuple[Optional[str], Optional[str], str]]:
    """Adds the names of sources that files do not name: those of the files, if they differ."""
    stems = [Path(path).name.partition(".")[0] for _, path in paths]
    for stem, (name, path) in zip(stems, paths):
        yield name, stem if stems.count(stem) == 1 else None, path


def _read(
    name: Optional[str],
    default: Optional[str],
    path: str,
    reading: Reading,
    tag_columns: Sequence[Column],
) -> Iterator[_Read]:
    # Who annotated each text, for files that are named
    owners: Dict[str, str] = {}

    def check_name(text: AnnotatedText, told: Optional[str]) -> None:
        if name and told and owners.setdefault(text.text, told) != told:
            raise ValueError(
                f"{text.place}: {owners[text.text]} and {told} have annotated the text, so the file is "
                f"not of {name} alone; write {path} instead of {name}={path}"
            )

    if reading.format is None and _is_joined(path):
        for each in read_annotations(path):
            for source, found in each.annotations.items():
                check_name(each.text, source)
                yield _Read(name or source, each.text._replace(entities=found))
        return
    for text in _texts(path, reading, tag_columns):
        check_entities(text)
        told = text.properties.get(SOURCE)
        check_name(text, told)
        owner = name or told or default
        if owner is None:
            raise ValueError(
                f"{path}: other files have the same name; name its source: anna={path}"
            )
        # A text of several sources is nobody's.
        dropped = (PLAIN_TAGS, SOURCE, *ANNOTATOR_KEYS)
        own = {key: value for key, value in text.properties.items() if key not in dropped}
        yield _Read(owner, text._replace(properties=own))


def _texts(path: str, reading: Reading, tag_columns: Sequence[Column]) -> Iterable[AnnotatedText]:
    texts = read_sources(path, reading, tag_columns)
    is_one = is_address(path) or Path(path).is_dir()
    if is_one or (reading.format or format_of(path)) != "columns":
        return texts
    return itertools.chain.from_iterable(
        with_documents(iter(list(own)), path, reading)
        for _, own in itertools.groupby(texts, lambda text: text.properties.get(SOURCE))
    )


def _is_joined(path: str) -> bool:
    """Whether a file is one from `write_annotations`."""
    if not is_address(path) and (Path(path).is_dir() or Path(path).suffix != ".jsonl"):
        return False
    _, record = next(read_records(path), ("", None))
    return isinstance(record, dict) and isinstance(record.get("annotations"), dict)


def check_entities(text: AnnotatedText) -> None:
    """Raises an error for a text with a plain label for each token."""
    if text.properties.get(PLAIN_TAGS) and text.entities:
        raise ValueError(f"{text.place}: expected entities, got a label for each token")


def moved(text: AnnotatedText, other: AnnotatedText) -> Iterator[Annotation]:
    """Yields a text's entities with the offsets of a text that differs in white space."""
    if text.text == other.text:
        yield from text.entities
        return
    own, new = ([i for i, each in enumerate(t.text) if not each.isspace()] for t in (text, other))
    for label, start, end in text.entities:
        first, behind = bisect_left(own, start), bisect_left(own, end)
        if first == behind:
            raise ValueError(
                f"{text.place}: entity {label} at {start} to {end} is blank; remove it"
            )
        yield Annotation(label, new[first], new[behind - 1] + 1)


def _check_versions(joined: Dict[_Key, SourcedText], order: Dict[str, List[_Key]]) -> None:
    """Raises an error for texts that two sources have in different versions.

    That are texts with the same `id` and many words in common; and, if two sources have as many texts,
    and most of them at the same place, the others.
    """
    by_id: Dict[str, Tuple[str, _Key]] = {}
    alone = {
        source: {n: key for n, key in enumerate(keys) if len(joined[key].annotations) == 1}
        for source, keys in order.items()
    }
    for source, keys in alone.items():
        for key in keys.values():
            identity = joined[key].text.properties.get("id")
            other, known = by_id.setdefault(str(identity), (source, key))
            if (
                identity is not None
                and other != source
                and _similarity(joined, known, key) >= _SAME
            ):
                raise _different(joined, known, key)
    for one, other in itertools.combinations(order, 2):
        both = alone[one].keys() & alone[other].keys()
        num_same = sum(map(operator.eq, order[one], order[other]))
        if both and len(order[one]) == len(order[other]) and 2 * num_same >= len(order[one]):
            number = min(both)
            raise _different(joined, alone[one][number], alone[other][number])


def _similarity(joined: Dict[_Key, SourcedText], one: _Key, other: _Key) -> float:
    a, b = (joined[key].text.text.split() for key in (one, other))
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def _different(joined: Dict[_Key, SourcedText], one: _Key, other: _Key) -> ValueError:
    a, b = joined[one], joined[other]
    pairs = itertools.zip_longest(a.text.text.split(), b.text.text.split(), fillvalue="")
    old, new = next(pair for pair in pairs if pair[0] != pair[1])
    return ValueError(
        f"{b.text.place}: {new!r} in the text of {', '.join(b.annotations)} is {old!r} in that of "
        f"{', '.join(a.annotations)} ({a.text.place}); correct one of them"
    )
