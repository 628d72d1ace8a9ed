"""Detects the layout of files of tokens and tags, for all readers."""
