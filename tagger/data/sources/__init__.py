"""Texts that several people, models or rules have annotated, and how they are read."""
