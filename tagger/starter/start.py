"""Writes a config for a user's own files: looks at them, splits and converts what has to be."""

import shlex
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from tagger.data.column_file import Row
from tagger.data.joined_text import join_tokens
from tagger.data.stratified_split import stratified_split
from tagger.data.survey.columns import Column
from tagger.starter.at_hand import pretrained_at_hand
from tagger.starter.config import best_metric, make_config, size_of, sizes_for
from tagger.starter.description import describe
from tagger.starter.survey import ColumnFile, Survey, survey
from tagger.starter.text_files import as_json_lines

#: How much of a file is kept for development: less of a large one.
_SHARE, _SHARE_OF_LARGE, _LARGE = 0.2, 0.1, 1_000
#: An example to predict has at most so many tokens.
_LONGEST_EXAMPLE = 20


class Start(NamedTuple):
    """What the starter has found and made.

    Attributes:
        files: The texts to write, by path; the last one is the config.
        said: What it saw, what it chose and how to go on, in lines.
    """

    files: Dict[Path, str]
    said: List[str]


def start(
    paths: Sequence[Path],
    output: Path,
    seed: int = 0,
    text_encoding: Optional[str] = None,
    token_column: Optional[Column] = None,
    tag_column: Optional[Column] = None,
    reading: Mapping[str, Any] = {},
) -> Start:
    """Makes a config for a training file, and writes nothing.

    Without a development file, the training file is split.

    `paths` are the training file and, if there is one, the development file. The config is for `output`,
    beside which the copies of files lie; the other arguments are those of `survey`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a file cannot be read, or has too few sentences to split.
    """
    found = survey(paths, text_encoding, token_column, tag_column, reading)
    files: Dict[Path, str] = {}
    chosen = []
    if len(found.files) == 1:
        # The parts are in UTF-8, and those of texts have no other format.
        kept = {} if found.files[0].texts else {**found.reading, "text_encoding": None}
        found = found._replace(reading=kept)
        parts = _split(found, seed)
        suffix = (paths[0].suffix or ".txt") if found.files[0].texts is None else ".jsonl"
        train, dev = (_beside(output, part, suffix) for part in ("train", "dev"))
        files.update({path: _text(part, found.files[0]) for path, part in zip((train, dev), parts)})
        chosen.append(
            f"  {train} and {dev}: {len(parts[0]):,} and {len(parts[1]):,} of these sentences, each "
            f"label in its proportion, in UTF-8"
        )
    else:
        parts = [file.sentences for file in found.files]
        train, dev = (file.path for file in found.files)
    files[output] = make_config(found, str(train), str(dev), parts[0])
    return Start(
        files,
        [
            *describe(found),
            "Chose",
            *chosen,
            *_choices(found, parts[0]),
            f"Wrote {', '.join(map(str, files))}. Go on with",
            *_commands(output, dev, _example(found, parts[1])),
        ],
    )


def _split(found: Survey, seed: int) -> List[List[List[Row]]]:
    """Returns the sentences for training, and those for development."""
    sentences = found.files[0].sentences
    share = _SHARE_OF_LARGE if len(sentences) >= _LARGE else _SHARE
    label_sets = [set(found.labels(rows)) for rows in sentences]
    assigned = stratified_split(label_sets, [1 - share, share], seed)
    parts = [[rows for rows, part in zip(sentences, assigned) if part == i] for i in range(2)]
    if not all(parts):
        raise ValueError(
            f"{found.files[0].path}: expected sentences to train on and to develop on, got "
            f"{len(sentences)}; put a blank line after each sentence, or name a development file"
        )
    return parts


def _beside(output: Path, part: str, suffix: str) -> Path:
    return output.with_name(f"{output.stem}.{part}{suffix}")


def _text(sentences: Sequence[Sequence[Row]], file: ColumnFile) -> str:
    if file.texts is not None:
        return as_json_lines([file.texts.texts[rows[0].number - 1] for rows in sentences])
    return "".join("\n".join(row.text for row in rows) + "\n\n" for rows in sentences)


def _choices(found: Survey, sentences: Sequence[Sequence[Row]]) -> List[str]:
    sizes = sizes_for(*size_of(found, sentences))
    settings = ", ".join(f"{name} {value}" for name, value in sizes.settings.items())
    head = "CRF" if found.scheme.label_separator is None else "sigmoid"
    return [
        f"  head {head}; the best epoch by {best_metric(found)}",
        f"  {sizes.reason}{f' ({settings})' if settings else ''}",
        *(f"  {each}" for each in pretrained_at_hand(found.tokenization.language).said),
    ]


def _example(found: Survey, sentences: Sequence[Sequence[Row]]) -> str:
    """Returns a sentence to predict: a short one with a label, if there is one."""
    by_merit = sorted(
        sentences, key=lambda rows: (not found.labels(rows), len(rows) > _LONGEST_EXAMPLE)
    )
    texts = (join_tokens(found.tokens(rows)[:_LONGEST_EXAMPLE]).text for rows in by_merit)
    # A line that begins with a brace would be taken for JSON.
    fitting = (text for text in texts if text.isprintable() and text[0].isalpha())
    return next(fitting, "A text of your own.")


def _commands(output: Path, dev: Path, example: str) -> List[str]:
    run = Path("runs", output.stem)
    archive = shlex.quote(str(run / "model.tar.gz"))
    return [
        f"  allennlp train {shlex.quote(str(output))} -s {shlex.quote(str(run))}",
        f"  allennlp evaluate {archive} {shlex.quote(str(dev))}",
        f"  echo {shlex.quote(example)} | allennlp predict {archive} -",
    ]
