"""Looks at a user's own column file, and writes a config for it.

- `text_encodings`: how the bytes of a file spell its text;
- `columns`: what separates its columns, which lines are comments, which columns hold tokens and tags;
- `schemes`: what its tags mean: spans in some encoding, plain labels, or several labels a token;
- `survey`: all of this together, of one file;
- `config`: the config, with settings that suit the size of the data;
- `start`: looks, splits, converts and writes.

All but `start` are pure functions.
"""

from tagger.starter.start import start

__all__ = ["start"]
