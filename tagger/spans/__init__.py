"""Spans: the tags that spell them, where they lie, which are right, and how probable they are.

- `encodings`: the encodings BIO, IOB1, BIOUL, BMES, IOBES and IO, and the labels of their tags;
- `transitions`: which tag may follow which, and whether a sequence is legal;
- `conversion`: from tags to spans and back, and from one encoding to another;
- `possible_tags`: the same for sentences with unknown tags, as sets of tags;
- `finding` and `matching`: the same on arrays of tag indices, for whole batches at once;
- `entities`: the spans in a model's tags, with their probabilities under a linear chain.

All but `entities` need neither torch nor AllenNLP, so `entities` is not imported here.
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
from tagger.spans.transitions import IllegalTagError, allowed_transitions, check_tags

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
]
