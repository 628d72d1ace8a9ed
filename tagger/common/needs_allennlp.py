"""Imported first by modules that need AllenNLP; where it is missing, says how to install it."""

import importlib.util

if importlib.util.find_spec("allennlp") is None:
    raise ImportError(
        "this part of tagger needs AllenNLP, but its dependency pins are outdated; install it "
        "without dependencies: pip install --no-deps allennlp==2.10.1"
    )
