"""Formats of annotation tools and libraries, read and written as texts with entities."""

from tagger.data.formats.annotated_text import (
    ASKED as ASKED,
    OPEN as OPEN,
    PLAIN_TAGS as PLAIN_TAGS,
    AnnotatedText as AnnotatedText,
    Annotation as Annotation,
    fit_to_tokens as fit_to_tokens,
    label_sets_of as label_sets_of,
    parts_of as parts_of,
    tags_of as tags_of,
    tokens_and_tags as tokens_and_tags,
)
from tagger.data.formats.conversion import (
    TextCounts as TextCounts,
    convert_texts as convert_texts,
    format_of_path as format_of_path,
    replace_by_texts as replace_by_texts,
)
from tagger.data.formats.overlaps import check_overlaps as check_overlaps
from tagger.data.formats.recognition import (
    INPUTS as INPUTS,
    format_of as format_of,
    holds_tags as holds_tags,
    is_csv as is_csv,
    recognise as recognise,
    recognise_texts as recognise_texts,
)
from tagger.data.formats.registry import (
    FORMATS as FORMATS,
    READ_FORMATS as READ_FORMATS,
    describe_file as describe_file,
    read_texts as read_texts,
    write_texts as write_texts,
)
