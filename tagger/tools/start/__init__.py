"""Looks at a user's own column file, and writes a config for it.

- `survey`: what the files hold, as `tagger.data.survey` finds it, and how their tokens were made;
- `config`: the config, with settings that suit the size of the data;
- `start`: looks, splits, converts and writes.

All but `start` are pure functions.
"""
