"""Spans: the tags that spell them, where they lie, which are right, and how probable they are.

`entities` needs torch, so it is not imported here.
"""

from tagger.spans.conversion import (
    convert_tags as convert_tags,
    spans_to_tags as spans_to_tags,
    tags_of_span as tags_of_span,
    tags_to_spans as tags_to_spans,
)
from tagger.spans.encodings import (
    AMBIGUOUS as AMBIGUOUS,
    ENCODINGS as ENCODINGS,
    PREFIXED as PREFIXED,
    Span as Span,
    complete_tags as complete_tags,
    infer_encoding as infer_encoding,
    labels_of_tags as labels_of_tags,
    labels_opened as labels_opened,
    split_tag as split_tag,
)
from tagger.spans.possible_tags import TagSet as TagSet, possible_tags as possible_tags
from tagger.spans.transitions import (
    IllegalTagError as IllegalTagError,
    allowed_transitions as allowed_transitions,
    check_tags as check_tags,
    transition_table as transition_table,
)
