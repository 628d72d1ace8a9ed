"""Converts files between formats, and counts what happens to their texts."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Iterable, Iterator, List, Sequence, Set, Tuple

from tagger.common.console import topics
from tagger.common.inputs import bare_suffix
from tagger.data.formats.annotated_text import (
    OPEN,
    PLAIN_TAGS,
    AnnotatedText,
    Annotation,
    document_of,
    fit_to_tokens,
)
from tagger.data.formats.overlaps import REMEDY, check_overlaps
from tagger.data.formats.registry import FORMATS, Format, format_named, write_texts

#: The number of examples of cut tokens or moved entities in a line.
_MOST_EXAMPLES = 3


class TextCounts:
    """Counts what happened to texts that were read or converted, some with examples."""

    def __init__(self, remedy: str = REMEDY) -> None:
        self.texts = self.entities = self.plain_labels = 0
        self.without_tokens = self.without_properties = self.without_documents = 0
        self.lost_properties: Set[str] = set()
        self.dropped, self.moved, self.cut = _Examples(), _Examples(), _Examples()
        self.remedy = remedy

    def add(self, text: AnnotatedText) -> AnnotatedText:
        """Counts a text before any change, and returns it."""
        self.texts += 1
        if text.properties.get(PLAIN_TAGS):
            self.plain_labels += len(text.entities)
        else:
            self.entities += len(text.entities)
        return text

    def without_overlaps(
        self, text: AnnotatedText, overlapping: str, by_label: bool = False
    ) -> AnnotatedText:
        """Drops overlapping entities, see `check_overlaps`, and counts them."""
        found, dropped = check_overlaps(text, overlapping, by_label, self.remedy)
        self.dropped.add(text, _places(dropped))
        return found

    def fitted(self, text: AnnotatedText) -> AnnotatedText:
        """Makes entities begin and end with tokens, see `fit_to_tokens`, and counts the changes."""
        found, cut, moved = fit_to_tokens(text)
        self.cut.add(text, cut)
        self.moved.add(text, _places(moved))
        return found

    def items(self) -> List[Tuple[str, str]]:
        """Returns what happened, with counts above 0."""
        examples = (
            ("dropped", self.dropped, "entities that overlap with others"),
            ("moved", self.moved, "entities, to begin and end where tokens do"),
            ("cut", self.cut, "tokens, at borders of entities or at white space"),
        )
        plain = self.plain_labels
        return [
            ("texts", f"{self.texts:,}"),
            ("entities", f"{self.entities:,}"),
            *([("labels", f"of {plain:,} tokens, which mark no entities")] if plain else []),
            *((verb, f"{each} {what}: {each.listed()}") for verb, each, what in examples if each),
            *self.lost(),
        ]

    def lost(self) -> List[Tuple[str, str]]:
        """Returns what the format could not keep."""
        lost = (
            (self.without_tokens, "tokens", ()),
            (self.without_documents, "documents", ()),
            (self.without_properties, "other properties", sorted(self.lost_properties)),
        )
        return [
            ("lost", f"the {what} of {number:,} texts" + f": {', '.join(names)}" * bool(names))
            for number, what, names in lost
            if number
        ]

    def in_one_line(self) -> str:
        """Returns what happened in one line, for a log."""
        return "; ".join(f"{what} {number}" for what, number in self.items())

    def __str__(self) -> str:
        return "\n".join(topics(self.items(), "", 10))


class _Examples:
    """Counts items in texts, and keeps the first of them with their places as examples."""

    def __init__(self) -> None:
        self._number = 0
        self._first: List[str] = []

    def add(self, text: AnnotatedText, places: Sequence[Tuple[int, int]]) -> None:
        self._number += len(places)
        for start, end in places[: _MOST_EXAMPLES - len(self._first)]:
            self._first.append(f"{text.text[start:end]!r} ({text.place})")

    def __len__(self) -> int:
        return self._number

    def __str__(self) -> str:
        return f"{self._number:,}"

    def listed(self) -> str:
        return ", ".join(self._first) + " ..." * (self._number > len(self._first))


def _places(entities: Iterable[Annotation]) -> List[Tuple[int, int]]:
    return [(entity.start, entity.end) for entity in entities]


def format_of_path(path: Path) -> str:
    """Returns the only format with the suffix of this path.

    Example:
        >>> format_of_path(Path("train.spacy")), format_of_path(Path("train.conll"))
        ('spacy', 'columns')
    """
    suffix = bare_suffix(path).lower()
    names = [name for name, each in FORMATS.items() if suffix in each.suffixes]
    if len(names) != 1:
        expected = ", ".join(names or FORMATS)
        raise ValueError(
            f"{path}: its name does not tell the format; name one by `--to`: {expected}"
        )
    return names[0]


def convert_texts(
    texts: Iterable[AnnotatedText],
    path: Path,
    name: str,
    overlapping: str = "refuse",
    remedy: str = REMEDY,
) -> TextCounts:
    """Writes texts to a new file, or a folder for brat, in the format `name`.

    Overlapping entities are handled as in `check_overlaps`, but `refuse` keeps them if the format can
    store them; otherwise the message has the `remedy`. If it cannot store a text, that is a
    `ValueError` with the text's place.
    """
    counts = TextCounts(remedy)
    target = format_named(name)
    if path.suffix.lower() == ".parquet":  # columns are the same for all texts
        target = target._replace(keeps=tuple({*target.keeps} - {"properties"}))
    write_texts(_counted(texts, target, overlapping, counts), path, name)
    return counts


def replace_by_texts(texts: Iterable[AnnotatedText], path: Path, name: str) -> TextCounts:
    """Like `convert_texts`, but replaces a file that exists, once all texts are written."""
    with TemporaryDirectory(dir=path.resolve().parent) as folder:
        written = Path(folder, path.name)
        counts = convert_texts(texts, written, name)
        written.replace(path)
    return counts


def _counted(
    texts: Iterable[AnnotatedText], target: Format, overlapping: str, counts: TextCounts
) -> Iterator[AnnotatedText]:
    keeps_overlaps = "overlaps" in target.keeps
    for text in texts:
        found = text
        if overlapping != "refuse" or not keeps_overlaps:
            found = counts.without_overlaps(found, overlapping)
        if not keeps_overlaps:  # formats with one tag per token
            found = counts.fitted(found)
        counts.without_tokens += text.tokens is not None and "tokens" not in target.keeps
        if "properties" not in target.keeps:
            document = document_of(text)
            own = {key for key, value in text.properties.items() if value == document}
            counts.without_documents += bool(own) and "documents" not in target.keeps
            others = {*text.properties} - own - {PLAIN_TAGS}
            others -= {OPEN} if "tokens" in target.keeps else set()
            counts.without_properties += bool(others)
            counts.lost_properties |= others
        yield counts.add(found)
