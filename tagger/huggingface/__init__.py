"""A weighted CRF on any token-classification model of the `transformers` library, without AllenNLP.

- `CrfForTokenClassification`: the model, which `transformers.Trainer` trains;
- `encode_words`: words and tags as the word pieces and labels that it takes;
- `WordPieceTagger`: tags texts, with the probability and the character offsets of each entity.

`AutoModelForTokenClassification.from_pretrained` reads such a model once this is imported.
"""

from transformers import AutoConfig, AutoModelForTokenClassification

from tagger.huggingface.crf_config import CrfConfig
from tagger.huggingface.crf_for_token_classification import CrfForTokenClassification
from tagger.huggingface.word_piece_tagger import WordPieceTagger
from tagger.huggingface.word_pieces import MASKED, UNKNOWN, Window, encode_words, window_size

__all__ = [
    "MASKED",
    "UNKNOWN",
    "CrfConfig",
    "CrfForTokenClassification",
    "Window",
    "WordPieceTagger",
    "encode_words",
    "window_size",
]

AutoConfig.register(CrfConfig.model_type, CrfConfig, exist_ok=True)
AutoModelForTokenClassification.register(CrfConfig, CrfForTokenClassification, exist_ok=True)
