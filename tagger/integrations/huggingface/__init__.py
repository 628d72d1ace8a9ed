"""A weighted CRF on any token-classification model of the `transformers` library, without AllenNLP.

Importing it registers the model with `AutoModelForTokenClassification.from_pretrained`, makes
`pipeline("ner", ...)` decode with the CRF, and makes `Trainer` refuse label smoothing for a CRF.

Pages in `docs/how_to`: `huggingface`, `import_hf`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tagger.common.lazy_names import lazy_names
from tagger_compat import after_import

if TYPE_CHECKING:
    from tagger.integrations.huggingface.crf_for_token_classification import (
        CrfConfig as CrfConfig,
        CrfForTokenClassification as CrfForTokenClassification,
    )
    from tagger.integrations.huggingface.word_piece_tagger import WordPieceTagger as WordPieceTagger
    from tagger.integrations.huggingface.word_pieces import (
        MASKED as MASKED,
        UNKNOWN as UNKNOWN,
        PieceWindow as PieceWindow,
        encode_words as encode_words,
        window_size as window_size,
    )

# Each module registers its classes. Two import parts of transformers that take seconds to load.
after_import("transformers", lambda: import_module(f"{__name__}.crf_for_token_classification"))
after_import("transformers.pipelines", lambda: import_module(f"{__name__}.crf_pipeline"))
after_import("transformers.trainer", lambda: import_module(f"{__name__}.trainer_check"))

lazy_names(__name__)
