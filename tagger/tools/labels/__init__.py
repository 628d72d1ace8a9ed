"""Labels in doubt: which of a corpus are wrong, and which of a text to ask for next."""
