"""Encoders of sequences."""

import tagger.common.needs_allennlp  # noqa: F401
