"""Encoders of sequences."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.modules.encoders.bilstm import BiLstmEncoder
from tagger.modules.encoders.masked_cnn import MaskedCnnEncoder
from tagger.modules.encoders.transformer_head import TransformerHead

__all__ = ["BiLstmEncoder", "MaskedCnnEncoder", "TransformerHead"]
