"""Our `allennlp` subcommands, which AllenNLP imports when it looks for plugins."""
