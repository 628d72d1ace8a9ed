"""Converts files from one format into another, and counts what becomes of their texts."""

from pathlib import Path
from typing import Iterable, Iterator

from tagger.data.formats.annotated_text import PLAIN_TAGS, AnnotatedText, fit_to_tokens
from tagger.data.formats.overlaps import check_overlaps
from tagger.data.formats.registry import FORMATS, Format, format_named, write_texts


class ConversionCounts:
    """What became of the texts of a file.

    Attributes:
        texts: The number of texts that were written.
        entities: The number of entities that were written.
        dropped: The number of entities that were dropped since they overlapped with others.
        moved: The number of entities that lost white space at their borders.
        cut: The number of tokens that were cut, at borders of entities or at white space.
        without_tokens: The number of texts whose tokens the format has no room for.
        without_properties: The number of texts whose other properties it has no room for.
    """

    def __init__(self) -> None:
        self.texts = self.entities = self.dropped = self.moved = self.cut = 0
        self.without_tokens = self.without_properties = 0

    def __str__(self) -> str:
        lines = [f"texts     {self.texts}", f"entities  {self.entities}"]
        optional = (
            (f"dropped   {self.dropped} entities that overlap with others", self.dropped),
            (f"moved     {self.moved} entities, to leave white space out", self.moved),
            (f"cut       {self.cut} tokens, at borders of entities or at white space", self.cut),
            (f"lost      the tokens of {self.without_tokens} texts", self.without_tokens),
            (
                f"lost      the other properties of {self.without_properties} texts",
                self.without_properties,
            ),
        )
        return "\n".join([*lines, *(line for line, number in optional if number)])


def format_of_path(path: Path) -> str:
    """Returns the only format whose files end like this.

    Raises:
        ValueError: If there are several or none; the message names them.

    Example:
        >>> format_of_path(Path("train.spacy")), format_of_path(Path("train.conll"))
        ('spacy', 'columns')
    """
    suffix = path.suffix.lower()
    names = [name for name, each in FORMATS.items() if suffix in each.suffixes]
    if len(names) != 1:
        expected = ", ".join(names or FORMATS)
        raise ValueError(f"{path}: its name tells no format; name one by `--to`: {expected}")
    return names[0]


def convert_texts(
    texts: Iterable[AnnotatedText], path: Path, name: str, overlapping: str = "refuse"
) -> ConversionCounts:
    """Writes texts to a new file.

    Args:
        texts: The texts.
        path: The file, or the folder for brat.
        name: The name of its format.
        overlapping: What to do with entities that overlap, as for `check_overlaps`. `refuse` keeps them
            where the format has room for them.

    Raises:
        FileExistsError: If `path` exists.
        ValueError: If a text cannot be read, or does not fit into the format; the message says where.
    """
    counts = ConversionCounts()
    write_texts(_counted(texts, format_named(name), overlapping, counts), path, name)
    return counts


def _counted(
    texts: Iterable[AnnotatedText], target: Format, overlapping: str, counts: ConversionCounts
) -> Iterator[AnnotatedText]:
    for text in texts:
        found = text
        if overlapping != "refuse" or "overlaps" not in target.keeps:
            found, dropped = check_overlaps(text, overlapping)
            counts.dropped += len(dropped)
        if "overlaps" not in target.keeps:  # formats in which a token has one tag
            found, num_cut, num_moved = fit_to_tokens(found)
            counts.cut += num_cut
            counts.moved += num_moved
        counts.texts += 1
        counts.entities += len(found.entities)
        counts.without_tokens += text.tokens is not None and "tokens" not in target.keeps
        has_properties = bool({*text.properties} - {PLAIN_TAGS})
        counts.without_properties += has_properties and "properties" not in target.keeps
        yield found
