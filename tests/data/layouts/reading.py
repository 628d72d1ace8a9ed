"""Reads a file as `allennlp start` and `allennlp convert` do, without their outputs."""

from argparse import Namespace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Iterable, List, NamedTuple, Optional, Tuple
from unittest.mock import patch

from tagger.common.word_splitter import WordSplitter, splitter_at_hand
from tagger.data.doubts import check_contents
from tagger.data.formats import PLAIN_TAGS, READ_FORMATS, format_of
from tagger.data.reading import Reading
from tagger.data.survey.schemes import spans_in
from tagger.tools.start.commands.split import _source
from tagger.tools.start.parts import divide
from tagger.tools.start.recordings import find_recordings
from tagger.tools.start.survey import survey

#: Loading the rules of a language takes half a second.
_splitter, _splitter_at_hand = map(lru_cache(maxsize=None), (WordSplitter, splitter_at_hand))


class Content(NamedTuple):
    """A text without white space, and its sorted entities as (label, start, end) in that text."""

    text: str
    entities: Tuple[Tuple[str, int, int], ...]
    are_plain: bool = False


def content_of(
    text: str, entities: Iterable[Tuple[str, int, int]], are_plain: bool = False
) -> Content:
    """Makes the content of a text with entities at offsets in characters."""
    bare = [0, *accumulate(int(not character.isspace()) for character in text)]
    found = sorted((label, bare[start], bare[end]) for label, start, end in entities)
    return Content("".join(text.split()), tuple(found), are_plain)


def content_of_tokens(
    tokens: List[str], spans: Iterable[Tuple[str, Tuple[int, int]]], are_plain: bool = False
) -> Content:
    """Makes the content of tokens with spans of tokens, with their last ones."""
    text = " ".join(tokens)
    starts = [0, *accumulate(len(token) + 1 for token in tokens)]
    entities = [(label, starts[i], starts[j] + len(tokens[j])) for label, (i, j) in spans]
    return content_of(text, entities, are_plain)


def read_by_start(path: Path, **reading: Any) -> List[Content]:
    """Reads a file as `allennlp start` does."""
    is_text = "format" in reading or "token_column" in reading
    if not is_text and find_recordings(path, reading.get("tag_column")) is not None:
        return [Content("recordings", ())]
    with (
        patch("tagger.data.tokenizers.WordSplitter", _splitter),
        patch("tagger.tools.start.tokenization.splitter_at_hand", _splitter_at_hand),
    ):
        found = survey([path], Reading(**reading))
    check_contents(found.texts_of(found.train[0]), path)
    are_plain = found.scheme.source_encoding is None
    return [
        content_of_tokens(found.tokens(rows), spans_in(found.tags(rows), found.scheme), are_plain)
        for rows in found.train[0].sentences
    ]


def read_by_convert(path: Path, **reading: Any) -> List[Content]:
    """Reads a file as `allennlp convert` does."""
    name = reading.get("format") or format_of(path)
    texts = list(READ_FORMATS[name].read(path, Reading(**reading)))
    check_contents(texts, path)
    return [
        content_of(
            text.text,
            [tuple(each) for each in text.entities],
            bool(text.properties.get(PLAIN_TAGS)),
        )
        for text in texts
    ]


def documents_by_split(path: Path, **reading: Any) -> Optional[List[Tuple[int, str]]]:
    """Returns each text's document and part as `allennlp split` divides a file, if it has documents."""
    names = ("text_encoding", "token_column", "tag_column", "label_names", "offsets")
    given = {name: reading.get(name) for name in names}
    args = Namespace(label_key=None, documents=None, **given)
    source, _, _ = _source(path, args)
    if source.documents is None:
        return None
    parts = divide(source, {"train": 0.6, "dev": 0.4}).parts
    part_of = {item: part for part, items in parts.items() for item in items}
    return [(number, part_of[item]) for item, number in enumerate(source.documents.of_item)]


def doubts_about(path: Path, **reading: Any) -> List[int]:
    """Returns the numbers of the doubts about a file."""
    return [*check_contents([*READ_FORMATS[format_of(path)].read(path, Reading(**reading))], path)]
