"""Saved taggers as ONNX files, which `tagger_onnx` and web pages run."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.integrations.onnx.export import exported

__all__ = ["exported"]
