"""Sequence tagging on AllenNLP, with a linear-chain CRF whose classes can be weighted.

Importing this package registers its components with AllenNLP, so that configs can name them.
"""

import importlib.util

import tagger_compat

__version__ = "0.1.0"

if importlib.util.find_spec("allennlp") is None:
    raise ImportError(
        "tagger needs AllenNLP, whose own pins refuse today's libraries; install it without them: "
        "pip install --no-deps allennlp==2.10.1"
    )

# In an environment it is installed at interpreter start; a checkout on PYTHONPATH gets it here.
tagger_compat.install()

from tagger import (  # noqa: E402
    data,
    linear_chain,
    metrics,
    models,
    modules,
    predictors,
    spans,
    training,
)
from tagger.saved_tagger import Entity, SavedTagger, TaggedText, load  # noqa: E402

__all__ = [
    "Entity",
    "SavedTagger",
    "TaggedText",
    "data",
    "linear_chain",
    "load",
    "metrics",
    "models",
    "modules",
    "predictors",
    "spans",
    "training",
]
