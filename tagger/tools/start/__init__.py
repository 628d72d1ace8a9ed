"""Looks at a user's own column file, and writes a config for it.

- `survey`: what the files hold, as `tagger.data.survey` and `tagger.data.formats` find it;
- `tokenization`: how their tokens were made;
- `config`: the config, with settings that suit the size of the data;
- `start`: looks, splits, converts and writes.

Pages in `docs/how_to`: `data`, `formats`.
"""
