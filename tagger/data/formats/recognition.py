"""Recognises a file's format by its contents."""

import csv
import itertools
from pathlib import Path
from typing import Any, List, Optional

from tagger.common.csv_rows import delimiter_of
from tagger.common.files import check_is_file
from tagger.common.inputs import PathOrAddress, bare_suffix, is_address, open_input
from tagger.data.formats.arrow_files import is_arrow
from tagger.data.formats.conll2012 import is_conll2012
from tagger.data.formats.huggingface import keys_of_tags
from tagger.data.formats.json_files import read_records
from tagger.data.formats.list_cells import has_list_cells
from tagger.data.formats.nested_records import flatten_remedy, is_nested
from tagger.data.formats.record_keys import ENTITY_KEYS, entity_key, is_entity, text_key
from tagger.data.formats.record_variants import is_variant
from tagger.data.formats.tables import columns_of
from tagger.data.formats.token_records import are_entities_alone, has_tokens, is_indexed
from tagger.data.formats.webanno import OPENING, documents_in
from tagger.data.survey.binary_files import binary_kind
from tagger.data.survey.headers import named, names_tokens
from tagger.data.survey.other_files import are_tagged, looks_like_json, no_texts
from tagger.data.text_encodings import open_text
from tagger_texts.segments import num_words

#: The number of records to examine.
_MOST_RECORDS = 1_000
#: Tokens have fewer words than this on average, and texts have more.
_FEW_WORDS = 2
#: The keys of a sequence tagger's inputs in JSON.
INPUTS = {"sentence", "tokens", "document", "sentences", "numbers"}
_OPENINGS = {OPENING: "webanno"}
#: How UIMA's files open, and what they have near the start.
_CAS = {"<": "xmi:XMI", "{": '"%TYPES"'}
#: The keys of what a server answers in place of a file.
_OF_ERRORS = ("error", "errors", "message", "detail", "status", "code", "statuscode", "path")
_TASK_KEYS = ("annotations", "predictions", "completions")


def recognise(path: PathOrAddress, labelled: bool = True) -> Optional[str]:
    """Returns the name of the format of a file, or of brat's folder; None if it cannot be recognised.

    That applies to most column files, which look like lines of text, and to pipes, because looking would
    consume their lines. Texts without annotations have a format only if not `labelled`.
    """
    if not is_address(path) and not Path(path).is_file():
        if not Path(path).exists():
            raise FileNotFoundError(f"{path}: there is no such file")
        return _recognise_folder(Path(path), labelled) if Path(path).is_dir() else None
    if bare_suffix(path) == ".spacy" or _is_brat(path):
        return "spacy" if bare_suffix(path) == ".spacy" else "brat"
    if is_arrow(path):
        return _recognise_json(path, labelled) or "huggingface"
    text = _start_of(path)
    _check_is_no_cas(path, text)
    told = next((name for opening, name in _OPENINGS.items() if text.startswith(opening)), None)
    if told is not None or looks_like_json(text):
        return told or _recognise_json(path, labelled)
    return _recognise_table(text.splitlines(), labelled)


def recognise_texts(path: PathOrAddress) -> Optional[str]:
    """Like `recognise`, for texts that need no annotations; None if each line is an input.

    An input is a text, or an object in JSON with one of the fields of a tagger's inputs, and no other.

    Column files are recognised by tags such as `B-PER`.

    Raises:
        ValueError: If the file is a table, and no column has a known name of texts; or if its lines are
            tokens or mark-up.
    """
    found = recognise(path)
    if found is not None or (not is_address(path) and not Path(path).is_file()):
        return found
    if holds_tags(path):
        return "columns"
    if is_csv(path):
        found = recognise(path, labelled=False)
        if found is None:
            raise ValueError(
                f"{path}: expected a column `text` in the table; rename that of the texts, or add "
                f"--plain if each line is a text"
            )
        return found
    reason = no_texts(_lines_of(path))
    if reason is not None:
        raise ValueError(f"{path}: {reason}, or add --plain if each line is a text")
    return recognise(path, labelled=False) if _has_other_keys(path) else None


def holds_tags(path: PathOrAddress) -> bool:
    """Whether a file has a column with tags such as `B-PER`."""
    return are_tagged(_lines_of(path))


def _lines_of(path: PathOrAddress) -> List[str]:
    return [line for line in _start_of(path).splitlines()[:-1] if line.strip()]


def is_csv(path: PathOrAddress) -> bool:
    """Whether a file is a table in text, by its name."""
    return bare_suffix(path).lower() in (".csv", ".tsv")


def _has_other_keys(path: PathOrAddress) -> bool:
    """Whether a file has objects in JSON with a text, and other keys than those of inputs."""
    if not looks_like_json(_start_of(path)):
        return False
    try:
        _, record = next(read_records(path), ("", None))
    except ValueError:
        return False
    if not isinstance(record, dict) or text_key(record) is None:
        return False
    return not record.keys() <= INPUTS


def _check_is_no_cas(path: PathOrAddress, text: str) -> None:
    """Raises an error for an analysis of UIMA, as XMI or JSON, with what to export instead."""
    if any(text.startswith(opening) and mark in text[:1_000] for opening, mark in _CAS.items()):
        raise ValueError(
            f"{path}: expected annotations, got a UIMA CAS, which cannot be read; export it from "
            "INCEpTION as WebAnno TSV v3.3"
        )


def _is_brat(path: PathOrAddress) -> bool:
    """Whether a file is one of brat's pairs."""
    suffix = Path(path).suffix
    is_text = suffix == ".txt" and not is_address(path)
    return suffix == ".ann" or (is_text and Path(path).with_suffix(".ann").is_file())


def _recognise_folder(path: Path, labelled: bool) -> Optional[str]:
    """Recognises a folder of brat or WebAnno, or one that the library `datasets` saved."""
    if any(path.rglob(f"*.{'ann' if labelled else 'txt'}")):
        return "brat"
    if is_arrow(path):
        return _recognise_json(path, labelled) or "huggingface"
    if (path / "dataset_dict.json").is_file():
        parts = sorted(each.name for each in path.iterdir() if is_arrow(each))
        raise ValueError(
            f"{path}: expected one data set, got {len(parts)}; name one of its folders: "
            f"{', '.join(parts)}"
        )
    if documents_in(path):
        return "webanno"
    for pattern in ("*.xmi", "*.json"):
        for each in itertools.islice(path.rglob(pattern), 1):
            _check_is_no_cas(each, _start_of(each))
    return None


def _start_of(path: PathOrAddress) -> str:
    with open_input(path) as stored:
        kind = binary_kind(stored.read(16))
    if kind is not None:
        raise ValueError(
            f"{path}: expected text, got a binary file, {kind}; export it as text, such as CSV"
        )
    with open_text(path) as (file, _):
        return file.read(1 << 16).decode("utf-8", "replace").removeprefix("\ufeff").lstrip()


def _recognise_json(path: PathOrAddress, labelled: bool) -> Optional[str]:
    """Recognises a format by the first record that has one."""
    records = (record for _, record in itertools.islice(read_records(path), _MOST_RECORDS))
    try:
        return next(filter(None, (_format_of_record(each, labelled) for each in records)), None)
    except ValueError:
        return None  # readers report the place of the error


def _recognise_table(lines: List[str], labelled: bool) -> Optional[str]:
    """Recognises CoNLL-U by its first token line, and CSV by its header."""
    row = next((line for line in lines if line and not line.startswith("#")), "").split("\t")
    if len(row) == 10 and row[0] in ("1", "1-2", "0.1"):
        return "conllu"
    if is_conll2012(lines):
        return "conll2012"
    header = lines[0] if lines else ""
    delimiter = delimiter_of(header)
    names = next(csv.reader([header], delimiter=delimiter), [])
    columns = columns_of(names, labelled) if delimiter in header else None
    if delimiter in header and has_list_cells(lines, delimiter):
        return "huggingface"
    if columns is not None:
        # Without a list of entities, `label` is that of a token.
        rows = itertools.islice(csv.reader(lines, delimiter=delimiter), 1, None)
        number = columns["entities"] if labelled else 0
        cells = (row[number] for row in rows if len(row) == len(names) and row[number])
        if not labelled or next(cells, "[").startswith("["):
            return "csv"
    return "columns" if names_tokens(names) and not _are_texts(lines, names, delimiter) else None


def _are_texts(lines: List[str], names: List[str], delimiter: str) -> bool:
    """Whether the column that is named like one of tokens, such as `text`, has several words."""
    number = named([name.lower() for name in names], "token") or 0
    rows = itertools.islice(csv.reader(lines, delimiter=delimiter), 1, None)
    words = [
        num_words(row[number]) for row in rows if len(row) == len(names) and row[number].strip()
    ]
    return sum(words) > _FEW_WORDS * len(words)


def _format_of_record(record: Any, labelled: bool) -> Optional[str]:
    if is_variant(record) or is_indexed(record):
        return "prodigy"
    if keys_of_tags(record) or (not isinstance(record, dict) and has_tokens(record)):
        return "huggingface"
    return _format_of_object(record, labelled) if isinstance(record, dict) else _of_pair(record)


def _of_pair(record: Any) -> Optional[str]:
    is_pair = isinstance(record, list) and [*map(type, record)] == [str, dict]
    return "spacy_json" if is_pair else None


def _format_of_object(record: dict[str, Any], labelled: bool) -> Optional[str]:
    data, has_text = record.get("data"), text_key(record) is not None
    is_task = isinstance(data, dict) and any(key in record for key in _TASK_KEYS)
    if is_task or ("annotation_id" in record and _has_tasks_spans(record)):
        return "label_studio"
    found = _format_of_spans(record) if has_text else None
    if found != "label_studio" and is_nested(record):
        return "prodigy"
    if found is None and has_tokens(record):
        return "huggingface"
    if found is None and not labelled:
        is_task = isinstance(data, dict) and "text" in data
        return "label_studio" if is_task else "doccano" if has_text else None
    return found


def _has_tasks_spans(record: dict[str, Any]) -> bool:
    lists = (value for value in record.values() if isinstance(value, list))
    objects = (each for values in lists for each in values if isinstance(each, dict))
    return any({"labels", "start"} <= each.keys() for each in objects)


def _format_of_spans(record: dict[str, Any]) -> Optional[str]:
    """Recognises the format of a record with a text by its lists."""
    lists = {key: value for key, value in record.items() if isinstance(value, list)}
    key = entity_key(record)
    is_task = _has_tasks_spans(record) and "text" in record
    is_task = is_task and (key is None or "annotator" in record)
    if is_task and key not in ("spans", "entities"):
        return "label_studio"
    if key == "entities":
        first = next(iter(lists.get(key, [])), None)
        has_offsets = isinstance(first, dict) and "start_offset" in first
        return "doccano" if has_offsets else "spacy_json"
    return None if key is None else "doccano" if key in ("label", "labels") else "prodigy"


def _are_words(value: Any) -> bool:
    """Whether a value is a label, or a list of labels."""
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
    )


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
        f'`entities` such as [[0, 3, "PER"]], or `tokens` and `ner_tags`; {_remedy(record)}'
    )


def _remedy(record: Any) -> str:
    """Says what to do about records of an unknown layout."""
    if are_entities_alone(record if isinstance(record, list) else [record]):
        return (
            'these are the entities of a pipeline, without their texts; write `{"text": ..., '
            '"entities": ...}` for each text, and let the pipeline aggregate words '
            '(`aggregation_strategy="simple"`)'
        )
    return _remedy_of_values(record)


def _remedy_of_values(record: Any) -> str:
    values = [*record.values()] if isinstance(record, dict) else []
    if isinstance(record, list) or (len(values) > 1 and all(isinstance(v, dict) for v in values)):
        return (
            "write one record a line, in pandas with `to_json(path, orient='records', lines=True)`"
        )
    is_flat = bool(values) and not any(isinstance(value, (list, dict)) for value in values)
    key = text_key(record) if values else None
    is_span = is_flat and key is not None and is_entity(record)
    has_labels = key is not None and any(_are_words(record.get(each)) for each in ENTITY_KEYS)
    if has_labels and not is_span and len(record[key].split()) > _FEW_WORDS:
        return (
            "if its labels are those of whole texts, train with the dataset reader `document`; "
            "`allennlp start` does so for a .jsonl file"
        )
    if is_span or (is_flat and names_tokens([*record])):
        one_each = "an entity, so write a record for each text, with a list of them"
        other = "a token, so write CSV, one token a line"
        return f"each record seems to be {one_each if is_span else other}"
    if values and all(isinstance(key, str) and key.lower() in _OF_ERRORS for key in record):
        return "this is an error message of a server; download the file again"
    flattened = flatten_remedy(record) if values else None
    if flattened is None and not any(isinstance(value, list) for value in values):
        return "there is no list of entities"
    return flattened or "rename the keys"
