"""Exports saved taggers as ONNX files, which run in `tagger_onnx` and in web pages.

Page in `docs/how_to`: `onnx`.
"""

import tagger.common.needs_allennlp  # noqa: F401
