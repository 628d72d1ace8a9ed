"""Hugging Face data sets: `tokens` and `ner_tags`, as JSON lines or Parquet."""

from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.parquet import import_pyarrow
from tagger.data.formats.annotated_text import (
    PLAIN_TAGS,
    AnnotatedText,
    text_of_tokens,
    tokens_and_tags,
)
from tagger.data.formats.arrow_files import dict_in, is_arrow, read_rows
from tagger.data.formats.json_files import parsed_json, read_records, write_lines
from tagger.data.formats.list_cells import is_table, read_list_cells
from tagger.data.formats.token_records import tagged_records
from tagger.data.reading import DETECTED, Reading
from tagger.data.survey.columns import key_of_spans
from tagger.data.survey.schemes import Scheme, find_scheme

#: Keys of tokens and tags in data sets, in the order in which they are tried.
TOKEN_KEYS = ("tokens", "words", "token", "word", "sentence", "text")
TAG_KEYS = ("ner_tags", "tags", "labels", "ner", "pos_tags")
#: The number of records to examine for the key and the scheme of the tags.
_MOST_RECORDS = 50_000


def read_huggingface(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads a data set of tokens and tags: JSON lines, a list of records, or a Parquet file.

    The text is the record's `text` if it has one, else the joined tokens. The tags are under the key
    `tag_column`, or else under the key with the most spans. The names of integer tags come from
    `label_names`, the metadata of a Parquet file, or a `dataset_info.json` beside the file.
    """
    records, names = _records(path, reading.text_encoding)
    if not reading.labelled:
        for place, record in records:
            yield _text(record, place, None, None, Scheme())
        return

    def names_of(key: str) -> Optional[Sequence[str]]:
        return reading.label_names or _names(names.get(key))

    tags: Dict[str, List[List[str]]] = {}
    for _, record in islice(records, _MOST_RECORDS):
        for key in keys_of_tags(record):
            known = dict(enumerate(names_of(key) or []))
            tags.setdefault(key, []).append([known.get(tag, str(tag)) for tag in record[key]])
    ordered = [
        *(key for key in TAG_KEYS if key in tags),
        *(key for key in tags if key not in TAG_KEYS),
    ]
    key = (
        reading.key
        or key_of_spans({key: tags[key] for key in ordered}, f"{path}: several keys", True)
        or next(iter(ordered), TAG_KEYS[0])
    )
    scheme = find_scheme(tags.get(key, []))
    for place, record in _records(path, reading.text_encoding)[0]:
        yield _text(record, place, key, names_of(key), scheme)


def _records(
    path: PathOrAddress, text_encoding: Optional[str]
) -> Tuple[Iterator[Tuple[str, Any]], Mapping[str, Any]]:
    """Returns a file's records with their places, and the descriptions of their keys."""
    features = _features_beside(path)
    if not is_arrow(path):
        read = read_list_cells if is_table(path, text_encoding) else read_records
        records = read(path, text_encoding=text_encoding)
        return ((place, each) for place, own in records for each in tagged_records(own)), features
    records, found = read_rows(path)
    return records, found or features


def keys_of_tags(record: Any) -> List[str]:
    """Returns the keys of a record that may have a tag for each token."""
    items = record.items() if isinstance(record, dict) else ()
    lists = {key: value for key, value in items if isinstance(value, list)}
    tokens = next((lists[key] for key in TOKEN_KEYS if key in lists), [None])
    if not all(isinstance(token, str) for token in tokens):
        return []
    return [
        key
        for key, tags in lists.items()
        if key not in TOKEN_KEYS
        and (key in TAG_KEYS or len(tags) == len(tokens) > 0)
        and all(type(tag) in (str, int) for tag in tags)
    ]


def _text(
    record: Any, place: str, tag_key: Optional[str], names: Optional[Sequence[str]], scheme: Scheme
) -> AnnotatedText:
    """Reads a record; tags are not read without a `tag_key`."""
    properties = dict(record) if isinstance(record, dict) else {}
    token_key = next((key for key in TOKEN_KEYS if isinstance(properties.get(key), list)), None)
    if token_key is None or (tag_key is not None and not isinstance(properties.get(tag_key), list)):
        raise ValueError(
            f"{place}: expected lists `{TOKEN_KEYS[0]}` and `{tag_key or TAG_KEYS[0]}`, got "
            f"{', '.join(properties) or str(record)[:80]}"
        )
    tokens = properties.pop(token_key)
    if not all(isinstance(token, str) for token in tokens):
        raise ValueError(f"{place}: expected `{token_key}` to be strings, got {tokens!r:.80}")
    tags = ["O"] * len(tokens)
    if tag_key is not None:
        tags = [_tag(tag, names, f"{place}: `{tag_key}`") for tag in properties.pop(tag_key)]
    text = properties.pop("text", None)
    given = text if isinstance(text, str) else None
    return text_of_tokens(tokens, tags, place, given, properties, scheme=scheme)


def _tag(tag: Any, names: Optional[Sequence[str]], place: str) -> str:
    if isinstance(tag, str):
        return tag
    if type(tag) is not int:
        raise ValueError(f"{place} has {tag!r}, expected a string or an integer")
    if not names:
        raise ValueError(
            f"{place} has integers without names; give them in order as `label_names` "
            f"(`--label-names O B-PER I-PER ...`), or put the data set's dataset_info.json beside it"
        )
    if not 0 <= tag < len(names):
        raise ValueError(f"{place} has {tag}, but there are {len(names)} names: {', '.join(names)}")
    return names[tag]


def _names(feature: Any) -> Optional[List[str]]:
    """Finds class names in a feature's description, which is nested differently in each release."""
    if isinstance(feature, list):
        feature = feature[0] if feature else None
    if not isinstance(feature, dict):
        return None
    names = feature.get("names")
    if isinstance(names, dict) and all(map(str.isdecimal, names)):  # {"0": "O"}, of a README
        names = [names[key] for key in sorted(names, key=int)]
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return names
    return _names(feature.get("feature") or feature.get("class_label"))


def _features_beside(path: PathOrAddress) -> Dict[str, Any]:
    """Reads the features of a `dataset_info.json` beside a file; {} without one."""
    info_path = Path(path).with_name("dataset_info.json")
    if is_address(path) or not info_path.is_file():
        return {}
    info = parsed_json(info_path.read_bytes().decode("utf-8", "replace"), str(info_path))
    if isinstance(info, dict) and "features" not in info:  # one description for each configuration
        info = next((each for each in info.values() if isinstance(each, dict)), {})
    return dict_in(info, "features")


def write_huggingface(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes `text`, `tokens` and `ner_tags` in BIO as strings; Parquet if the path ends in `.parquet`.

    Parquet cannot store properties, because they differ between records.
    """
    records = map(_record, texts)
    if path.suffix.lower() != ".parquet":
        write_lines(path, records)
        return
    pyarrow = import_pyarrow()
    strings = pyarrow.list_(pyarrow.string())
    types = {"text": pyarrow.string(), "tokens": strings, "ner_tags": strings}
    table = pyarrow.Table.from_pylist(list(records), schema=pyarrow.schema(types))
    with write_atomically(path) as new:
        pyarrow.parquet.write_table(table, new)


def _record(text: AnnotatedText) -> Dict[str, Any]:
    tokens, tags = tokens_and_tags(text)
    taken = {*TOKEN_KEYS, *TAG_KEYS, "text", PLAIN_TAGS}
    rest = {key: value for key, value in text.properties.items() if key not in taken}
    return {**rest, "text": text.text, "tokens": tokens, "ner_tags": tags}
