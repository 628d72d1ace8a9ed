"""A pytest plugin that runs seqeval's own tests on our span decoding, in both of its modes."""

import numpy as np
from seqeval import scheme
from seqeval.metrics import sequence_labeling

from tagger.spans import tags_to_spans
from tagger.spans.finding import find_spans, tag_tables

ENCODINGS = {scheme.IOB2: "BIO", scheme.IOBES: "IOBES", scheme.BILOU: "BIOUL"}


def get_entities(seq, suffix=False):
    if any(isinstance(each, list) for each in seq):
        seq = [tag for sentence in seq for tag in [*sentence, "O"]]
    if suffix:
        seq = ["-".join(reversed(tag.rsplit("-", 1))) for tag in seq]
    # For illegal sequences, seqeval's reading of IOBES includes BIO and IOB1.
    return [(label or "_", *span) for label, span in tags_to_spans(seq, "IOBES")]


def strict_entities(tokens):
    encoding = ENCODINGS.get(type(tokens.outside_token))
    if encoding is None:  # IOE1, IOE2, and IOB1, in which nothing is illegal.
        return _entities.fget(tokens)
    for token in tokens.tokens:
        token.is_valid()
    spelt = [
        "O" if token.prefix == scheme.Prefix.O else f"{token.prefix.name}-{token.tag}"
        for token in tokens.tokens
    ]
    tags = sorted({"O", *spelt})
    tables = tag_tables(tags, encoding, strict=True)
    border = len(tags)
    spans = find_spans(tables, np.array([border, *map(tags.index, spelt), border]))
    return [
        scheme.Entity(tokens.sent_id, first - 1, last, tables.labels[label])
        for label, first, last in zip(spans.labels, spans.starts, spans.ends)
    ]


_entities = scheme.Tokens.entities
scheme.Tokens.entities = property(strict_entities)
sequence_labeling.get_entities = get_entities
