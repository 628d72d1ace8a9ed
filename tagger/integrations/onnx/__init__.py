"""Saved taggers as ONNX files, which `tagger_onnx` and web pages run."""

import tagger.common.needs_allennlp  # noqa: F401
