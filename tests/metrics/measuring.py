"""Computes metrics of sentences given as lists of tags."""

import numpy as np

from tagger.metrics import TagMetrics
from tests.spans.tagged import tag_set, to_batch, to_mask, vocabulary_of

MEASURES = {"precision": "precision", "recall": "recall", "f1-measure": "f1-score"}


def measured(gold, predicted, encoding="BIO", tags=None, **kwargs):
    tags = tags or tag_set(encoding)
    metric = TagMetrics(vocabulary_of(tags), tag_encoding=encoding, **kwargs)
    metric(to_batch(predicted, tags), to_batch(gold, tags), to_mask(gold))
    return metric


def metrics_of(gold, predicted, encoding="BIO", tags=None, **kwargs):
    return measured(gold, predicted, encoding, tags, **kwargs).get_metric()


def with_unknown(sentences, share, seed):
    rng = np.random.default_rng(seed)
    return [["?" if rng.random() < share else tag for tag in tags] for tags in sentences]
