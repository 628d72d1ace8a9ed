"""Recognises a file's format by its contents."""

import csv
from itertools import islice
from pathlib import Path
from typing import Any, List, Optional

from tagger.common.files import check_is_file
from tagger.common.inputs import PathOrAddress, bare_suffix, is_address
from tagger.data.formats.huggingface import keys_of_tags
from tagger.data.formats.json_files import read_records
from tagger.data.formats.tables import columns_of, delimiter_of
from tagger.data.formats.webanno import OPENING
from tagger.data.survey.headers import names_tokens
from tagger.data.survey.other_files import looks_like_json
from tagger.data.survey.text_encodings import open_text

#: The number of records to examine.
_MOST_RECORDS = 1_000
_OPENINGS = {"PAR1": "huggingface", OPENING: "webanno"}
_TASK_KEYS = ("annotations", "predictions", "completions")


def recognise(path: PathOrAddress, labelled: bool = True) -> Optional[str]:
    """Returns the name of the format of a file, or of brat's folder; None if it cannot be recognised.

    That applies to most column files, which look like lines of text, and to pipes, because looking would
    consume their lines. Texts without annotations have a format only if not `labelled`.
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
    told = next((name for opening, name in _OPENINGS.items() if text.startswith(opening)), None)
    if told is not None:
        return told
    if looks_like_json(text):
        return _recognise_json(path, labelled)
    return _recognise_table(text.splitlines(), labelled)


def _start_of(path: PathOrAddress) -> str:
    with open_text(path) as (file, _):
        return file.read(1 << 16).decode("utf-8", "replace").removeprefix("\ufeff").lstrip()


def _recognise_json(path: PathOrAddress, labelled: bool) -> Optional[str]:
    """Recognises a format by the first record that has one."""
    records = (record for _, record in islice(read_records(path), _MOST_RECORDS))
    try:
        return next(filter(None, (_format_of_record(each, labelled) for each in records)), None)
    except ValueError:
        return None  # readers report the place of the error


def _recognise_table(lines: List[str], labelled: bool) -> Optional[str]:
    """Recognises CoNLL-U by its first token line, and CSV by its header."""
    row = next((line for line in lines if line and not line.startswith("#")), "").split("\t")
    if len(row) == 10 and row[0] in ("1", "1-2", "0.1"):
        return "conllu"
    header = lines[0] if lines else ""
    delimiter = delimiter_of(header)
    names = next(csv.reader([header], delimiter=delimiter), [])
    columns = columns_of(names, labelled) if delimiter in header else None
    if columns is not None:
        # Without a list of entities, `label` is that of a token.
        row = next(islice(csv.reader(lines, delimiter=delimiter), 1, None), [])
        cell = row[columns["entities"]] if labelled and len(row) > columns["entities"] else ""
        if cell[:1] in ("", "["):
            return "csv"
    return "columns" if names_tokens(names) else None


def _format_of_record(record: Any, labelled: bool) -> Optional[str]:
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        return "spacy_json"
    if not isinstance(record, dict):
        return None
    if keys_of_tags(record):
        return "huggingface"
    data, has_text = record.get("data"), isinstance(record.get("text"), str)
    if isinstance(data, dict) and any(key in record for key in _TASK_KEYS):
        return "label_studio"
    found = _format_of_spans(record) if has_text else None
    if found is None and not labelled:
        is_task = isinstance(data, dict) and "text" in data
        return "label_studio" if is_task else "doccano" if has_text else None
    return found


def _format_of_spans(record: dict[str, Any]) -> Optional[str]:
    """Recognises the format of a record with a text by its lists."""
    lists = {key: value for key, value in record.items() if isinstance(value, list)}
    spans, entities = lists.pop("spans", None), lists.pop("entities", None)
    others = [each for values in lists.values() for each in values if isinstance(each, dict)]
    if any({"labels", "start"} <= each.keys() for each in others):
        return "label_studio"
    if spans is not None:
        return "prodigy"
    if entities is not None:
        has_offsets = any(isinstance(each, dict) and "start_offset" in each for each in entities)
        return "doccano" if has_offsets else "spacy_json"
    found = next((lists[key] for key in ("label", "labels", "annotations") if key in lists), None)
    is_doccano = found is not None and all(isinstance(each, (list, dict)) for each in found)
    return "doccano" if is_doccano else None


def format_of(path: PathOrAddress, labelled: bool = True) -> str:
    """Returns the name of a file's format, from `recognise` or else `columns` if that is possible."""
    found = recognise(path, labelled)
    if found is not None:
        return found
    if not is_address(path):
        check_is_file(path)
    is_pipe = not is_address(path) and not Path(path).is_file()
    if is_pipe or not looks_like_json(_start_of(path)):
        return "columns"
    _, record = next(read_records(path), (None, None))
    if record is None:
        raise ValueError(f"{path}: expected records of JSON, got none")
    keys = f"the keys {', '.join(record)}" if isinstance(record, dict) else f"{str(record)[:60]!r}"
    raise ValueError(
        f"{path}: JSON of an unknown layout; the first record has {keys}; expected `text` and "
        '`entities` such as [[0, 3, "PER"]], or `tokens` and `ner_tags`; rename the keys'
    )
