"""Sequence tagging on AllenNLP, with a linear-chain CRF that can weight its classes.

Once this package is imported, configs can name its components. Subpackages are imported lazily.
`tagger.linear_chain`, `tagger.spans` and the CRF of `tagger.modules` work without AllenNLP.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import tagger_compat
from tagger.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from tagger import data, linear_chain, metrics, models, modules, predictors, spans, training
    from tagger.integrations.huggingface.import_tagger import from_hugging_face
    from tagger.predictors.saved_tagger import Entity, SavedTagger, TaggedText, load

__version__ = "0.1.0"

__all__ = [
    "Entity",
    "SavedTagger",
    "TaggedText",
    "data",
    "from_hugging_face",
    "linear_chain",
    "load",
    "metrics",
    "models",
    "modules",
    "predictors",
    "spans",
    "training",
]


def _extension() -> Any:
    from tagger.commands import extension

    return extension


tagger_compat.extend(__name__, _extension)
# Before anything imports PyTorch.
tagger_compat.set_variables_of_pytorch()
# An installed package does this at interpreter start; a checkout on PYTHONPATH does it here.
tagger_compat.install()
if not tagger_compat.is_installed() and importlib.util.find_spec("allennlp"):
    # With the hook turned off, nobody tells us when AllenNLP looks for one of our components.
    importlib.import_module("tagger.commands.components").import_all()

lazy_names(__name__)
