"""Sequence tagging on AllenNLP, with a linear-chain CRF that can weight its classes.

Once this package is imported, configs can name its components. Subpackages are imported lazily.
`tagger.linear_chain`, `tagger.spans` and the CRF of `tagger.modules` work without AllenNLP.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any, List

import tagger_compat
from tagger.common.collections_paused import collections_paused

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

#: Lazily imported names, with the module that defines each.
_MODULES = {
    **dict.fromkeys(
        ("Entity", "SavedTagger", "TaggedText", "load"), "tagger.predictors.saved_tagger"
    ),
    "from_hugging_face": "tagger.integrations.huggingface.import_tagger",
}


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


if not TYPE_CHECKING:  # otherwise type checkers would accept any name

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            importlib.import_module("tagger.common.needs_allennlp")
            with collections_paused():
                return getattr(importlib.import_module(_MODULES[name]), name)
        if not name.startswith("_") and importlib.util.find_spec(f"tagger.{name}"):
            return importlib.import_module(f"tagger.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
