"""A trained tagger as a component of a spaCy pipeline; page in `docs/how_to`: `spacy`."""
