"""Encoders of token sequences."""

from tagger.modules.encoders.bilstm import BiLstmEncoder

__all__ = ["BiLstmEncoder"]
