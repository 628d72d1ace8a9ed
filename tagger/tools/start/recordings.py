"""Recognises recordings, which are sequences of numbers, and writes a config for them."""

import csv
import io
import itertools
import json
import random
import re
import unicodedata
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

from tagger.common.inputs import bare_suffix
from tagger.data.dataset_readers.numeric_sequences import read_table
from tagger.data.formats import recognise
from tagger.data.survey.other_files import named_text
from tagger.data.survey.spellings import find_spelling
from tagger.tools.start.config import listed, listed_counts, sizes_for
from tagger.tools.start.start import Start, commands_for
from tagger_texts.segments import num_words

#: A column with more distinct texts, or with a larger share of them, holds words; labels may have more.
_MOST_TAGS, _LARGEST_SHARE, _SHARE_OF_LABELS = 100, 0.1, 0.34
_SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".data", ".parquet", "")
#: Signs for an unknown label; -1 is one only beside two other labels.
_UNKNOWN, _MINUS = ("", "?"), "-1"
#: What columns of labels are called, those of times or row numbers, and how times and numbers look.
_LABEL = re.compile(
    r"(.*[_ .-])?(labels?|class(es)?|targets?|activit(y|ies)|gestures?|behaviou?rs?|anomal(y|ies)|"
    r"categor(y|ies)|tags?|annotations?|truth|faults?|failures?)([_ .-](id|name|label))?",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"|date|time|date_?time|epoch|index|unnamed.*|.*time[ _]?stamps?\b.*", re.IGNORECASE
)
_DATE = re.compile(r"\s*\d+([-/.]\d+[-/.]\d|:\d\d)")
_DECIMAL = re.compile(r"[-+]?\d*,?\d+([eE][-+]?\d+)?")


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

    The first column tells recordings apart if its values come in blocks and are no times. The labels
    are `tag`, or the columns with names such as `label` or `activity`, or else the last columns if
    these hold only 0 and 1, or the last column if it has few different values. The other numbers are
    inputs, except those that grow from step to step, which are times.

    Raises:
        ValueError: If it is not clear which column has labels, or there is only one label.
    """
    columns = _columns(path)
    header = [*columns]
    if not columns or (tag is not None and tag not in columns):
        return None
    num_rows = len(columns[header[0]])
    named = [name for name in header if _LABEL.fullmatch(name)]
    parts = _blocks(columns, header[0]) if header[0] not in (tag, *named) else None
    rest = header[parts is not None :]
    flags = [name for name in rest if _are_flags(columns[name])]
    others = [name for name in rest if name not in (tag, *flags, *named)]
    numbers = [name for name in others if all(map(_is_number, filter(None, columns[name])))]
    whole = [[*range(num_rows)]]
    inputs = [name for name in numbers if not _are_times(name, columns[name], parts or whole)]
    words = [name for name in rest if name not in (tag, *flags, *numbers)]
    if not inputs or _are_texts({name: columns[name] for name in words}, inputs, columns):
        return None
    labels = [tag] if tag else _label_columns(path, columns, rest, flags)
    inputs = [name for name in inputs if name not in labels]
    if not inputs:
        return None
    _check_labels(path, columns, labels)
    _check_decimals(path, columns, [name for name in words if name not in labels])
    has_tags = tag is not None or any(name not in flags for name in labels)
    sequence = header[0] if parts is not None else None
    return Recordings(columns, parts or whole, sequence, inputs, labels, has_tags)


def check_no_recordings(path: Path, tag: Optional[str] = None) -> None:
    """Raises an error for a table of recordings, for commands that read words."""
    if find_recordings(path, tag) is not None:
        raise ValueError(
            f"{path}: expected words, got recordings, which only `allennlp start` reads and splits; "
            "train on the table as it is"
        )


def _columns(path: Path) -> Dict[str, List[str]]:
    """Reads the columns of a table with names in its first line; none if the file is no such table."""
    if not path.is_file() or bare_suffix(path).lower() not in _SUFFIXES:
        return {}
    if recognise(path) is not None:
        return {}  # it holds texts, tokens or spans
    try:
        header, table = read_table(path)
        if len(header) < 2 or any(map(_is_number, header)):
            return {}
        rows = [["" if each is None else str(each) for each in cells] for _, cells in table]
    except ValueError:
        return {}
    is_known = named_text([",".join(header)]) is not None  # and is refused later
    if is_known or len(rows) < 2:
        return {}
    return dict(zip(header, map(list, zip(*rows))))


def _blocks(columns: Dict[str, List[str]], name: str) -> Optional[List[List[int]]]:
    """Returns the rows of each recording, if a column with their names comes in blocks."""
    cells = columns[name]
    if _TIME.fullmatch(name) or any(map(_DATE.match, cells[:1])):
        return None
    groups = itertools.groupby(range(len(cells)), cells.__getitem__)
    blocks = {each: list(block) for each, block in groups}
    is_parted = 1 < len(blocks) <= len(cells) // 5 and sum(map(len, blocks.values())) == len(cells)
    return [*blocks.values()] if is_parted else None


def _are_texts(
    words: Dict[str, List[str]], inputs: Sequence[str], columns: Dict[str, List[str]]
) -> bool:
    """Whether the columns that hold no numbers are texts, or tokens beside their places."""
    # Words beside whole numbers are tokens beside their places.
    are_whole = not any("." in cell for name in inputs for cell in columns[name])
    is_tagged = any(
        find_spelling(counts) and any(len(tag) > 1 for tag in counts)
        for counts in map(Counter, columns.values())
    )
    for name, cells in words.items():
        texts = {*filter(_is_words, cells)}
        may_be_labels = _LABEL.fullmatch(name) or name == [*columns][-1]
        if len(texts) > _most(cells, _SHARE_OF_LABELS if may_be_labels else _LARGEST_SHARE):
            return True
        if texts and not may_be_labels and (are_whole or is_tagged):
            return True
    return False


def _most(cells: Sequence[str], share: float) -> float:
    """Returns how many different labels, or other names, a column may have."""
    return max(2, min(_MOST_TAGS, share * len(cells)))


def _label_columns(
    path: Path, columns: Dict[str, List[str]], rest: Sequence[str], flags: Sequence[str]
) -> List[str]:
    """Returns the columns of labels: by their names, or else the last ones."""
    named = [
        name
        for name in rest
        if _LABEL.fullmatch(name) and 0 < len(_known(columns[name])) <= _MOST_TAGS
    ]
    several = [name for name in named if name not in flags]
    words = [name for name in several if not all(map(_is_number, _known(columns[name])))]
    found = words[:1] or several[:1] or named
    if several and any(_differ(columns[found[0]], columns[name]) for name in named):
        raise ValueError(
            f"{path}: expected one column of labels, but {', '.join(named)} are named like them; "
            "name one by `--tag-column`"
        )
    last = [*itertools.takewhile(flags.__contains__, reversed(rest))][::-1]
    if found or last:
        return last if {*found} <= {*last} else found
    known = _known(columns[rest[-1]])
    numbers = [float(each) for each in known if _is_number(each)]
    are_few = len(known) <= _most(columns[rest[-1]], _SHARE_OF_LABELS)
    # Measured numbers, unlike those of classes, have fractions or leave many out.
    if are_few and all(n.is_integer() and -1 <= n <= 2 * len(known) + 1 for n in numbers):
        return [rest[-1]]
    raise ValueError(
        f"{path}: expected recordings with a column of labels, but the last column, "
        f"{rest[-1]!r}, has {len(known):,} different values such as {min(known)!r}; name the "
        "column of labels by `--tag-column`, or add one with a label in each row"
    )


def _differ(labels: Sequence[str], others: Sequence[str]) -> bool:
    """Whether cells are more than other names or numbers of some labels."""
    return len({*zip(labels, others)}) > min(len({*labels}), len({*others}))


def _check_labels(path: Path, columns: Dict[str, List[str]], labels: Sequence[str]) -> None:
    """Raises an error if there are no two labels to tell apart."""
    found = {cell for name in labels for cell in _known(columns[name])}
    if len(found) < 2:
        raise ValueError(
            f"{path}: expected several labels in column {labels[0]!r}, got {', '.join(found) or 'none'} "
            "alone; write the recordings of all labels into one table"
        )


def _check_decimals(path: Path, columns: Dict[str, List[str]], names: Sequence[str]) -> None:
    """Raises an error if a column has numbers with decimal commas."""
    for name in names:
        cells = [*filter(None, columns[name])]
        if cells and all(map(_DECIMAL.fullmatch, cells)) and any("," in each for each in cells):
            raise ValueError(
                f"{path}: expected numbers with decimal points, got {cells[0]!r} in column {name!r}; "
                "convert them, in pandas by `read_csv(..., decimal=',')` and `to_csv`"
            )


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
    cells = found.columns[found.labels[0]]
    known = _known(cells)
    counts: Dict[str, int] = {
        name: sum(_is_number(each) and float(each) == 1 for each in found.columns[name])
        for name in found.labels
    }
    if found.has_tags:
        counts = dict(Counter(cell for cell in cells if cell in known).most_common())
    used = [found.sequence, *found.numbers, *found.labels, ""]
    apart = "" if found.sequence is None else f", told apart by {found.sequence}"
    said = [
        f"{paths[0]}",
        f"  recordings {len(found.blocks):,}, of {len(cells):,} steps together{apart}",
        f"  numbers    {listed(found.numbers)}",
        f"  labels     in {listed(found.labels)}: {listed_counts(counts)}",
        f"  not used   {listed([name for name in found.columns if name not in used]) or 'nothing'}",
        f"Wrote {', '.join(map(str, files))}. Go on with",
    ]
    return Start(files, [*said, *commands_for(output, dev)])


def _config(found: Recordings, train: str, dev: str) -> str:
    labels = found.columns[found.labels[0]]
    known = _known(labels)
    runs = [len([*run]) for _, run in itertools.groupby(filter(known.__contains__, labels))]
    is_unknown = found.has_tags and _MINUS in {*labels} - known
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
    is_sentence = num_words(cell) > 2 and sum(map(str.isalpha, letters)) > len(letters) / 2
    return is_sentence or "".join(letters).isalpha()


def _is_number(cell: str) -> bool:
    try:
        return float(cell) is not None
    except ValueError:
        return False


def _known(cells: Sequence[str]) -> Set[str]:
    """Returns the different labels of a column."""
    known = {*cells}.difference(_UNKNOWN)
    return known - {_MINUS} if len(known) > 2 else known


def _are_flags(cells: Sequence[str]) -> bool:
    """Whether cells hold 0 and 1, and perhaps signs for unknown ones."""
    known = _known(cells)
    return all(map(_is_number, known)) and {*map(float, known)} == {0, 1}


def _are_times(name: str, cells: Sequence[str], blocks: Sequence[Sequence[int]]) -> bool:
    """Whether numbers hardly ever repeat and never go back within a recording, or are named so."""
    if _TIME.fullmatch(name):
        return True
    numbers = [float(cell or "nan") for cell in cells]
    num_back = sum(not before <= after for before, after in itertools.pairwise(numbers))
    return num_back < len(blocks) and 2 * len({*numbers}) * len(blocks) > len(numbers)
