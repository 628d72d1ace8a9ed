"""Reads a file as `allennlp start` and `allennlp convert` do, without their outputs."""

from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Iterable, List, NamedTuple, Tuple
from unittest.mock import patch

from tagger.common.word_splitter import WordSplitter, splitter_at_hand
from tagger.data.formats import PLAIN_TAGS, READ_FORMATS, format_of, read_texts
from tagger.data.survey.schemes import spans_in
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
    bare = [0, *accumulate(not character.isspace() for character in text)]
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
        found = survey([path], **reading)
    are_plain = found.scheme.source_encoding is None
    return [
        content_of_tokens(found.tokens(rows), spans_in(found.tags(rows), found.scheme), are_plain)
        for rows in found.train[0].sentences
    ]


def read_by_convert(path: Path, **reading: Any) -> List[Content]:
    """Reads a file as `allennlp convert` does."""
    name = reading.pop("format", None) or format_of(path)
    options = {key: value for key, value in reading.items() if key in READ_FORMATS[name].options}
    return [
        content_of(
            text.text,
            [tuple(each) for each in text.entities],
            bool(text.properties.get(PLAIN_TAGS)),
        )
        for text in read_texts(path, name, **options)
    ]
