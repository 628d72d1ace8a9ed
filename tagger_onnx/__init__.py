"""Runs taggers exported as ONNX files with `allennlp export`. It needs numpy, onnxruntime and regex.

Example:
    import tagger_onnx

    tagger_onnx.load("tagger.onnx").tag("Ada Lovelace lives in London.").entities
"""

from tagger_onnx.onnx_tagger import OnnxTagger, load
from tagger_texts.inputs import InputError
from tagger_texts.prediction import Entity
from tagger_texts.tagged_text import TaggedText

__all__ = ["Entity", "InputError", "OnnxTagger", "TaggedText", "load"]
