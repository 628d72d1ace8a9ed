"""Pretrained transformers that read words: their pieces, their windows and their hidden states."""
