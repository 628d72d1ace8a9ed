"""Subcommands of `allennlp` of our own; AllenNLP imports them when it looks for plugins."""
