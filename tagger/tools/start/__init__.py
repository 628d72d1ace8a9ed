"""Examines a user's own files and writes a config for them.

- `survey`: the contents of the files, using `tagger.data.survey` and `tagger.data.formats`;
- `tokenization`: how their tokens were made;
- `config`: the config, with settings that suit the size of the data;
- `start`: the command, which examines, splits, converts and writes.

Pages in `docs/how_to`: `data`, `formats`.
"""
