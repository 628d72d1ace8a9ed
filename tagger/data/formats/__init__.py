"""Formats of annotation tools and libraries, read and written as texts with entities."""

from tagger.data.formats.annotated_text import (
    ASKED,
    OPEN,
    PLAIN_TAGS,
    AnnotatedText,
    Annotation,
    fit_to_tokens,
    label_sets_of,
    parts_of,
    tags_of,
    tokens_and_tags,
)
from tagger.data.formats.conversion import (
    TextCounts,
    convert_texts,
    format_of_path,
    replace_by_texts,
)
from tagger.data.formats.overlaps import check_overlaps
from tagger.data.formats.recognition import (
    INPUTS,
    format_of,
    holds_tags,
    is_csv,
    recognise,
    recognise_texts,
)
from tagger.data.formats.registry import (
    FORMATS,
    READ_FORMATS,
    describe_file,
    read_texts,
    write_texts,
)

__all__ = [
    "ASKED",
    "FORMATS",
    "INPUTS",
    "OPEN",
    "PLAIN_TAGS",
    "READ_FORMATS",
    "AnnotatedText",
    "Annotation",
    "TextCounts",
    "check_overlaps",
    "convert_texts",
    "describe_file",
    "fit_to_tokens",
    "format_of",
    "format_of_path",
    "holds_tags",
    "is_csv",
    "label_sets_of",
    "parts_of",
    "read_texts",
    "recognise",
    "recognise_texts",
    "replace_by_texts",
    "tags_of",
    "tokens_and_tags",
    "write_texts",
]
