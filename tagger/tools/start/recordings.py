"""Recognises recordings, which are sequences of numbers, and writes a config for them."""

import csv
import io
import itertools
import json
import random
import unicodedata
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Dict, List, NamedTuple, Optional, Sequence

from tagger.common.inputs import bare_suffix
from tagger.data.dataset_readers.numeric_sequences import read_table
from tagger.data.formats import recognise
from tagger.data.survey.other_files import named_text
from tagger.data.survey.spellings import find_spelling
from tagger.tools.start.config import listed, listed_counts, sizes_for
from tagger.tools.start.start import Start, commands_for

#: A column with more distinct texts, or with a larger share of them, holds words.
_MOST_TAGS, _LARGEST_SHARE = 100, 0.1
_UNKNOWN = ("", "?", "-1")


class Recordings(NamedTuple):
    """A table of recordings: each cell as text, and the names of columns by their use."""

    columns: Dict[str, List[str]]
    blocks: List[List[int]]
    sequence: Optional[str]
    numbers: List[str]
    labels: List[str]
    has_tags: bool

    def text(self, blocks: Sequence[Sequence[int]]) -> str:
        """Returns some of the blocks of rows as CSV."""
        text = io.StringIO()
        rows = list(zip(*self.columns.values()))
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([list(self.columns), *(rows[at] for block in blocks for at in block)])
        return text.getvalue()


def find_recordings(path: Path, tag: Optional[str] = None) -> Optional[Recordings]:
    """Reads a table of recordings; None if the file holds something else, such as texts.

    The first column tells recordings apart if its values come in blocks. The labels are `tag`, or the
    last columns if these hold only 0 and 1, or the last column. The other numbers are inputs, except
    those that grow from step to step, which are times.
    """
    if bare_suffix(path).lower() not in (".csv", ".tsv", ".parquet"):
        return None
    if recognise(path) is not None:
        return None  # it holds texts, tokens or spans
    try:
        header, table = read_table(path)
        rows = [["" if each is None else str(each) for each in cells] for _, cells in table]
    except ValueError:
        return None
    is_known = named_text([",".join(header)]) is not None  # and is refused later
    if is_known or len(rows) < 2 or any(map(_is_number, header)):
        return None
    columns = dict(zip(header, map(list, zip(*rows))))
    groups = itertools.groupby(range(len(rows)), lambda at: rows[at][0])
    blocks = {name: list(block) for name, block in groups}
    is_parted = 1 < len(blocks) <= len(rows) // 5 and sum(map(len, blocks.values())) == len(rows)
    rest = header[is_parted:]
    flags = [name for name in rest if {"0", "1"} <= {*columns[name]} <= {"0", "1", *_UNKNOWN}]
    last = [*itertools.takewhile(flags.__contains__, reversed(rest))][::-1]
    labels = [tag] if tag else last or rest[-1:]
    others = [name for name in rest if name not in (*flags, *labels)]
    numbers = [name for name in others if all(map(_is_number, filter(None, columns[name])))]
    parts = [*blocks.values()] if is_parted else [[*range(len(rows))]]
    inputs = [name for name in numbers if not _grows(columns[name], len(parts))]
    # Words beside whole numbers are tokens beside their places.
    are_whole = not any("." in cell for name in inputs for cell in columns[name])
    texts = [{*filter(_is_words, columns[name])} for name in others if name not in numbers]
    most = min(_MOST_TAGS, _LARGEST_SHARE * len(rows))
    is_tagged = any(find_spelling(Counter(columns[name])) for name in header)
    is_text = any(each and (are_whole or is_tagged or len(each) > most) for each in texts)
    if is_text or not inputs or not labels or labels[0] not in columns:
        return None
    sequence = header[0] if is_parted else None
    return Recordings(columns, parts, sequence, inputs, labels, labels != last)


def start_with_recordings(
    paths: Sequence[Path], output: Path, found: Recordings, seed: int
) -> Start:
    """Like `start`, for a training file with recordings."""
    files: Dict[Path, str] = {}
    train, dev = paths[0], paths[-1]
    if len(paths) == 1:
        blocks = random.Random(seed).sample(found.blocks, len(found.blocks))
        if len(blocks) == 1:
            border = len(blocks[0]) * 4 // 5
            blocks = [blocks[0][border:], blocks[0][:border]]
        num_dev = max(1, len(blocks) // 5)
        train, dev = (output.with_name(f"{output.stem}.{name}.csv") for name in ("train", "dev"))
        files = {train: found.text(blocks[num_dev:]), dev: found.text(blocks[:num_dev])}
    files[output] = _config(found, str(train), str(dev))
    known = Counter(cell for cell in found.columns[found.labels[0]] if cell not in _UNKNOWN)
    counts = (
        known if found.has_tags else {each: found.columns[each].count("1") for each in found.labels}
    )
    used = [found.sequence, *found.numbers, *found.labels]
    said = [
        f"{paths[0]}",
        f"  recordings {len(found.blocks):,}, of {sum(map(len, found.blocks)):,} steps together",
        f"  numbers    {listed(found.numbers)}",
        f"  labels     {listed_counts(counts)}",
        f"  not used   {listed([name for name in found.columns if name not in used]) or 'nothing'}",
        f"Wrote {', '.join(map(str, files))}. Go on with",
    ]
    return Start(files, [*said, *commands_for(output, dev)])


def _config(found: Recordings, train: str, dev: str) -> str:
    labels = found.columns[found.labels[0]]
    known = (label for label in labels if label not in _UNKNOWN)
    runs = [len([*run]) for _, run in itertools.groupby(known)]
    is_unknown = found.has_tags and "-1" in labels
    reader = {
        "type": "numeric_sequences",
        "number_columns": found.numbers,
        "label_columns": found.labels[0] if found.has_tags else found.labels,
        "sequence_column": found.sequence,
        **({"unknown_tag": "-1"} if is_unknown else {}),
        **({"window": 200, "overlap": 50} if max(map(len, found.blocks)) > 200 else {}),
    }
    sizes = sizes_for(len(labels), len(labels))
    metric = "token-f1-measure-macro" if found.has_tags else "f1-measure-macro"
    embedders = {"numbers": {"type": "numbers", "size": len(found.numbers)}}
    model = {
        "text_field_embedder": {"token_embedders": embedders},
        "segment_tolerance": max(1, round(median(runs or [0]) / 10)),
        **({} if found.has_tags else {"head": {"type": "sigmoid"}}),
    }
    tuned = "" if found.has_tags else ", callbacks+: ['tune_thresholds']"
    lines = [
        "// A tagger of recordings, written by `allennlp start`.",
        "// All settings are at the top of tagger/training/template.libsonnet, in the package.",
        "(import 'tagger/training/template.libsonnet') + {",
        "  source_encoding:: null,",
        "  tag_encoding:: null,",
        f"  dataset_reader: {json.dumps(reader)},",
        "  vocabulary: {},",
        f"  model+: {json.dumps(model)},",
        f"  trainer+: {{ validation_metric: '+{metric}'{tuned} }},",
        f"  // {len(labels):,} steps: {sizes.reason}.",
        *(f"  {name}:: {value}," for name, value in sizes.settings.items()),
        f"  train_data_path: {json.dumps(train)},",
        f"  validation_data_path: {json.dumps(dev)},",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _is_words(cell: str) -> bool:
    """Whether a cell holds one word or several, or a sentence, which has a few other signs."""
    letters = [
        each for each in cell if not (each.isspace() or unicodedata.category(each)[0] == "M")
    ]
    is_sentence = len(cell.split()) > 2 and sum(map(str.isalpha, letters)) > len(letters) / 2
    return is_sentence or "".join(letters).isalpha()


def _is_number(cell: str) -> bool:
    try:
        return float(cell) is not None
    except ValueError:
        return False


def _grows(cells: Sequence[str], num_blocks: int) -> bool:
    numbers = [float(cell or "nan") for cell in cells]
    return sum(not before < after for before, after in itertools.pairwise(numbers)) < num_blocks
