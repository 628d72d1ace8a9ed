"""Which format a file has, by what is in it."""

import csv
from itertools import islice
from pathlib import Path
from typing import Any, Dict, List, Optional

from tagger.common.files import check_is_file
from tagger.common.inputs import PathOrAddress, bare_suffix, is_address
from tagger.data.formats.huggingface import keys_of_tags
from tagger.data.formats.json_files import read_records
from tagger.data.formats.tables import columns_of, delimiter_of
from tagger.data.survey.columns import names_tokens
from tagger.data.survey.other_files import looks_like_json
from tagger.data.survey.text_encodings import open_text

#: How many records are looked at.
_MOST_RECORDS = 1_000
_SPAN_KEYS = ("spans", "entities")
_TASK_KEYS = ("annotations", "predictions", "completions")


def recognise(path: PathOrAddress, labelled: bool = True) -> Optional[str]:
    """Returns the name of a file's format by what is in it; None if nothing names it.

    So it does for most column files, which no more than `format_of` can tell from lines of text.

    It looks into no pipe, whose lines that would take away.

    Args:
        path: A file, or a folder for brat.
        labelled: Whether the file must have entities. If not, texts alone have a format too.

    Raises:
        FileNotFoundError: If there is none.
    """
    if not is_address(path):
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(f"{path}: there is no such file")
        if not path.is_file():
            suffix = "ann" if labelled else "txt"
            return "brat" if path.is_dir() and any(path.rglob(f"*.{suffix}")) else None
        if path.suffix == ".ann" or (path.suffix == ".txt" and path.with_suffix(".ann").is_file()):
            return "brat"
    if bare_suffix(path) == ".spacy":
        return "spacy"
    text = _start_of(path)
    if text.startswith("PAR1"):
        return "huggingface"
    if looks_like_json(text):
        return _recognise_json(path, labelled)
    return _recognise_table(text, labelled)


def _start_of(path: PathOrAddress) -> str:
    with open_text(path) as (file, _):
        return file.read(1 << 16).decode("utf-8", "replace").removeprefix("\ufeff").lstrip()


def _recognise_table(text: str, labelled: bool) -> Optional[str]:
    """Recognises CoNLL-U by its first line of a token, and CSV by its header."""
    lines = text.splitlines()
    row = next((line for line in lines if line and not line.startswith("#")), "").split("\t")
    if len(row) == 10 and row[0] in ("1", "1-2", "0.1"):
        return "conllu"
    header = lines[0] if lines else ""
    delimiter = delimiter_of(header)
    names = next(csv.reader([header], delimiter=delimiter), [])
    columns = columns_of(names, labelled)
    if delimiter not in header or columns is None:
        return "columns" if names_tokens(names) else None
    # Without a list of entities, `label` is that of a token.
    row = next(islice(csv.reader(lines, delimiter=delimiter), 1, None), [])
    cell = row[columns["entities"]] if labelled and len(row) > columns["entities"] else ""
    return "csv" if cell[:1] in ("", "[") else "columns" if names_tokens(names) else None


def _recognise_json(path: PathOrAddress, labelled: bool) -> Optional[str]:
    """Recognises a format by the first record that has one."""
    try:
        for _, record in islice(read_records(path), _MOST_RECORDS):
            found = _recognise_record(record, labelled)
            if found is not None:
                return found
    except ValueError:
        pass  # its readers say where
    return None


def _recognise_record(record: Any, labelled: bool) -> Optional[str]:
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        return "spacy_json"
    if not isinstance(record, dict):
        return None
    return _format_of_record(record) or (None if labelled else _format_of_unlabelled(record))


def _format_of_record(record: Dict[str, Any]) -> Optional[str]:
    lists = {key: value for key, value in record.items() if isinstance(value, list)}
    if keys_of_tags(record):
        return "huggingface"
    data = record.get("data")
    if isinstance(data, dict) and any(key in record for key in _TASK_KEYS):
        return "label_studio"
    return _format_of_spans(lists) if isinstance(record.get("text"), str) else None


def _format_of_unlabelled(record: Dict[str, Any]) -> Optional[str]:
    data = record.get("data")
    if isinstance(data, dict) and "text" in data:
        return "label_studio"
    return "doccano" if isinstance(record.get("text"), str) else None


def _format_of_spans(lists: Dict[str, List[Any]]) -> Optional[str]:
    """Recognises the format of a record that has a text by its lists."""
    others = [each for key, values in lists.items() if key not in _SPAN_KEYS for each in values]
    if any(isinstance(each, dict) and {"labels", "start"} <= each.keys() for each in others):
        return "label_studio"
    if "spans" in lists:
        return "prodigy"
    if "entities" in lists:
        has_offsets = any(
            isinstance(each, dict) and "start_offset" in each for each in lists["entities"]
        )
        return "doccano" if has_offsets else "spacy_json"
    keys = [key for key in ("label", "labels", "annotations") if key in lists]
    if keys and all(isinstance(each, (list, dict)) for each in lists[keys[0]]):
        return "doccano"
    return None


def format_of(path: PathOrAddress, labelled: bool = True) -> str:
    """Returns the name of a file's format: that of `recognise`, or else `columns`.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it cannot be a column file; the message says what it looks like, and what to do.
    """
    found = recognise(path, labelled)
    if found is not None:
        return found
    if not is_address(path):
        check_is_file(path)
    is_pipe = not is_address(path) and not Path(path).is_file()
    if is_pipe or not looks_like_json(_start_of(path)):
        return "columns"
    records = list(islice(read_records(path), 1))
    record = records[0][1] if records else None
    keys = f"the keys {', '.join(record)}" if isinstance(record, dict) else f"{str(record)[:60]!r}"
    raise ValueError(
        f"{path}: JSON of an unknown layout, whose first record has {keys}; expected `text` and "
        '`entities` such as [[0, 3, "PER"]], or `tokens` and `ner_tags`; rename the keys'
        if records
        else f"{path}: expected records of JSON, got none"
    )
