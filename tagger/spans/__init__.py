"""Spans: the tags that spell them, where they lie, which are right, and how probable they are.

`entities` needs torch, so it is not imported here.
"""

from tagger.spans.conversion import convert_tags, spans_to_tags, tags_of_span, tags_to_spans
from tagger.spans.encodings import (
    AMBIGUOUS,
    ENCODINGS,
    PREFIXED,
    Span,
    complete_tags,
    infer_encoding,
    labels_of_tags,
    labels_opened,
    split_tag,
)
from tagger.spans.possible_tags import TagSet, possible_tags
from tagger.spans.transitions import (
    IllegalTagError,
    allowed_transitions,
    check_tags,
    transition_table,
)

__all__ = [
    "AMBIGUOUS",
    "ENCODINGS",
    "PREFIXED",
    "IllegalTagError",
    "Span",
    "TagSet",
    "allowed_transitions",
    "check_tags",
    "complete_tags",
    "convert_tags",
    "infer_encoding",
    "labels_of_tags",
    "labels_opened",
    "possible_tags",
    "spans_to_tags",
    "split_tag",
    "tags_of_span",
    "tags_to_spans",
    "transition_table",
]
