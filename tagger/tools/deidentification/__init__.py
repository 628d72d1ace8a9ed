"""Texts without what is sensitive in them: `masks` writes them, for `predict-file --mask`.

Page in `docs/tutorial`: `deidentification`.
"""
