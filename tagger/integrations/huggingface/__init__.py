"""A weighted CRF on any token-classification model of the `transformers` library, without AllenNLP.

- `CrfForTokenClassification`: the model, which `transformers.Trainer` trains;
- `encode_words`: words and tags as the word pieces and labels that it takes;
- `WordPieceTagger`: tags texts, with the probability and the character offsets of each entity.

Once this is imported, `AutoModelForTokenClassification.from_pretrained` reads such a model,
`pipeline("ner", ...)` decodes with its CRF, and `Trainer` refuses label smoothing for it.
"""

from functools import partial
from importlib import import_module

from transformers import AutoConfig, AutoModelForTokenClassification

from tagger.integrations.huggingface.crf_config import CrfConfig
from tagger.integrations.huggingface.crf_for_token_classification import CrfForTokenClassification
from tagger.integrations.huggingface.word_piece_tagger import WordPieceTagger
from tagger.integrations.huggingface.word_pieces import (
    MASKED,
    UNKNOWN,
    Window,
    encode_words,
    window_size,
)
from tagger_compat import after_import

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


# Each registers what it holds. Both modules of transformers take seconds to import.
for module, ours in (("pipelines", "crf_pipeline"), ("trainer", "trainer_check")):
    after_import(f"transformers.{module}", partial(import_module, f"{__name__}.{ours}"))
