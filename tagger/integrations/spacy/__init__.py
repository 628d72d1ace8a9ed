"""A trained tagger as a component of a spaCy pipeline."""
