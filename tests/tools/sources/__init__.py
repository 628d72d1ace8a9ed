"""Tests of `tagger.tools.sources`."""
