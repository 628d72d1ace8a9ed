"""What needs AllenNLP imports this first: where it is missing, the error says how to install it."""

import importlib.util

if importlib.util.find_spec("allennlp") is None:
    raise ImportError(
        "this part of tagger needs AllenNLP, whose own pins refuse today's libraries; install it "
        "without them: pip install --no-deps allennlp==2.10.1"
    )
