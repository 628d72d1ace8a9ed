"""Saved taggers as ONNX files, which `tagger_onnx` and web pages run.

Page in `docs/how_to`: `onnx`.
"""

import tagger.common.needs_allennlp  # noqa: F401
