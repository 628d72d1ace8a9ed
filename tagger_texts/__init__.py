"""Texts and recordings, before and after they are tagged: the types that all taggers share.

`tagger` and `tagger_onnx` stand on this package, which needs only numpy and regex.
"""
