"""How a file of tokens and tags is understood, whoever reads it.

- `text_encodings`: how the bytes of a file spell its text;
- `columns`: what separates its columns, which lines are comments, which columns hold tokens and tags;
- `schemes`: what its tags mean: spans in some encoding, plain labels, or several labels a token.
"""
