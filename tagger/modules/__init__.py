"""Modules: encoders, contexts of documents, the CRF, its weightings, rules for weights, and heads.

The CRF and its weightings need no AllenNLP. The other names are imported lazily.
"""

import importlib
from typing import TYPE_CHECKING, Any, List

from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.conditional_random_field import ConditionalRandomField
from tagger.modules.tag_weighting import (
    EmissionTransitionWeighting,
    EmissionWeighting,
    LannoyWeighting,
    TagWeighting,
)
from tagger.modules.weight_rules import WeightRule

if TYPE_CHECKING:
    from tagger.modules.document_contexts import DocumentContext
    from tagger.modules.encoders import BiLstmEncoder
    from tagger.modules.heads import ChainHead, CrfHead, SigmoidHead, SoftmaxHead, TaggingHead
    from tagger.modules.label_thresholds import LabelThresholds
    from tagger.modules.multi_label_losses import MultiLabelLoss
    from tagger.modules.token_embedders import DistinctCharactersEncoder
    from tagger.modules.token_losses import TokenLoss

__all__ = [
    "BiLstmEncoder",
    "ChainDecoder",
    "ChainHead",
    "ConditionalRandomField",
    "CrfHead",
    "DistinctCharactersEncoder",
    "DocumentContext",
    "EmissionTransitionWeighting",
    "EmissionWeighting",
    "LabelThresholds",
    "LannoyWeighting",
    "MultiLabelLoss",
    "SigmoidHead",
    "SoftmaxHead",
    "TagWeighting",
    "TaggingHead",
    "TokenLoss",
    "WeightRule",
]

#: The modules that are imported lazily, by what they define.
_MODULES = {
    "BiLstmEncoder": "encoders",
    "ChainHead": "heads",
    "CrfHead": "heads",
    "DistinctCharactersEncoder": "token_embedders",
    "DocumentContext": "document_contexts",
    "LabelThresholds": "label_thresholds",
    "MultiLabelLoss": "multi_label_losses",
    "SigmoidHead": "heads",
    "SoftmaxHead": "heads",
    "TaggingHead": "heads",
    "TokenLoss": "token_losses",
}


if not TYPE_CHECKING:  # else type checkers would accept any name

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        if name in _MODULES.values():
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
