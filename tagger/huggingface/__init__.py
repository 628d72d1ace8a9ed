"""A weighted CRF on any token-classification model of the `transformers` library, without AllenNLP.

- `CrfForTokenClassification`: the model, which `transformers.Trainer` trains;
- `encode_words`: words and tags as the word pieces and labels that it takes;
- `WordPieceTagger`: tags texts, with the probability and the character offsets of each entity.

Once this is imported, `AutoModelForTokenClassification.from_pretrained` reads such a model,
`pipeline("ner", ...)` decodes with its CRF, and `Trainer` refuses label smoothing for it.
"""

from transformers import AutoConfig, AutoModelForTokenClassification

from tagger.huggingface.crf_config import CrfConfig
from tagger.huggingface.crf_for_token_classification import CrfForTokenClassification
from tagger.huggingface.word_piece_tagger import WordPieceTagger
from tagger.huggingface.word_pieces import MASKED, UNKNOWN, Window, encode_words, window_size
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


def _register_pipeline() -> None:
    from transformers.pipelines import PIPELINE_REGISTRY

    from tagger.huggingface.crf_pipeline import CrfPipeline

    # `register_pipeline` would warn of the task that is there.
    PIPELINE_REGISTRY.supported_tasks["token-classification"]["impl"] = CrfPipeline


def _register_check() -> None:
    from transformers.trainer import DEFAULT_CALLBACKS

    from tagger.huggingface.trainer_check import LabelSmoothingCheck

    DEFAULT_CALLBACKS.append(LabelSmoothingCheck)


# Both modules take seconds to import.
after_import("transformers.pipelines", _register_pipeline)
after_import("transformers.trainer", _register_check)
