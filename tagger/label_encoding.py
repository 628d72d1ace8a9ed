"""The old name of `tagger.spans`: imports from here still work, with a warning."""

import warnings
from typing import Any

from tagger import spans


def __getattr__(name: str) -> Any:
    if name not in spans.__all__:  # such as `__path__`, which AllenNLP asks every module for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("`tagger.label_encoding` is now `tagger.spans`", FutureWarning, stacklevel=2)
    return getattr(spans, name)
