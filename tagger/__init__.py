"""Sequence tagging on AllenNLP, with a linear-chain CRF that can weight its classes.

Once this package is imported, configs can name its components. Subpackages are imported lazily.
`tagger.linear_chain`, `tagger.spans` and the CRF of `tagger.modules` work without AllenNLP.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import tagger_compat
from tagger.common.lazy_names import lazy_names
from tagger.common.version import __version__ as __version__

if TYPE_CHECKING:
    from tagger import (
        data as data,
        linear_chain as linear_chain,
        metrics as metrics,
        models as models,
        modules as modules,
        predictors as predictors,
        spans as spans,
        training as training,
    )
    from tagger.integrations.huggingface.import_tagger import from_hugging_face as from_hugging_face
    from tagger.predictors.saved_tagger import (
        Entity as Entity,
        SavedTagger as SavedTagger,
        TaggedText as TaggedText,
        load as load,
    )


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
