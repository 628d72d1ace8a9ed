"""Subcommands of `allennlp`. AllenNLP imports them when it looks for plugins."""
