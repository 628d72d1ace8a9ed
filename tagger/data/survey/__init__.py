"""How a file of tokens and tags is understood, whoever reads it."""
