"""Our subcommands of `allennlp`. AllenNLP imports them when it looks for plugins."""
