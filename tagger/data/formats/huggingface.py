"""Data sets of Hugging Face: `tokens` and `ner_tags`, as JSON lines or as Parquet."""

import logging
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress, is_address, open_input
from tagger.data.formats.annotated_text import (
    PLAIN_TAGS,
    AnnotatedText,
    text_of_tokens,
    tokens_and_tags,
)
from tagger.data.formats.json_files import parsed_json, read_records, write_lines
from tagger.data.survey.columns import count_spans
from tagger.data.survey.schemes import Scheme, find_scheme

logger = logging.getLogger(__name__)

#: Keys under which data sets have tokens and tags, in the order in which we look.
TOKEN_KEYS = ("tokens", "words")
TAG_KEYS = ("ner_tags", "tags", "labels", "ner", "pos_tags")
#: How many records tell which key has the tags, and what these mean.
_MOST_RECORDS = 50_000


def read_huggingface(
    path: PathOrAddress,
    label_names: Optional[Sequence[str]] = None,
    labelled: bool = True,
    text_encoding: Optional[str] = None,
    tag_column: Optional[str] = None,
) -> Iterator[AnnotatedText]:
    """Reads a data set of tokens and tags.

    The text is the record's `text` if it has one, else the tokens joined. Integers take their names from
    the option, from the metadata of a Parquet file, or from a `dataset_info.json` beside the file.

    Args:
        path: A file of JSON lines, a list of records, or a Parquet file.
        label_names: The name of each integer, from 0.
        labelled: Whether tags are read, which each record then needs.
        text_encoding: How the bytes of the file spell text, if it is known.
        tag_column: The key of the tags; None for the one that spells the most spans.

    Raises:
        ValueError: If a record is not as expected, or an integer has no name; the message says where.
        ImportError: If the file is Parquet and pyarrow is missing.
    """
    records, features = _records(path, text_encoding)
    if not labelled:
        for place, record in records:
            yield _text(record, place, None, {}, None, Scheme())
        return
    first = [record for _, record in islice(records, _MOST_RECORDS)]
    key, scheme = _key_and_scheme(first, features, label_names, tag_column, path)
    for place, record in _records(path, text_encoding)[0]:
        yield _text(record, place, key, features, label_names, scheme)


def _records(
    path: PathOrAddress, text_encoding: Optional[str]
) -> Tuple[Iterator[Tuple[str, Any]], Dict[str, Any]]:
    features = _features_beside(path)
    if not is_parquet(path):
        return read_records(path, text_encoding=text_encoding), features
    records, found = _read_parquet(path)
    return records, found or features


def _key_and_scheme(
    records: Sequence[Any],
    features: Dict[str, Any],
    label_names: Optional[Sequence[str]],
    tag_column: Optional[str],
    path: PathOrAddress,
) -> Tuple[str, Scheme]:
    """Returns the key of the tags and what they mean, and logs the other keys that spell spans."""
    # The tags of each record under each key.
    tags: Dict[str, List[List[str]]] = {}
    for record in records:
        for key in keys_of_tags(record):
            names = label_names or _names(features.get(key)) or []
            known = dict(enumerate(names))
            tags.setdefault(key, []).append([known.get(tag, str(tag)) for tag in record[key]])
    keys = sorted(tags, key=lambda key: TAG_KEYS.index(key) if key in TAG_KEYS else len(TAG_KEYS))
    found = count_spans([tags[key] for key in keys], range(len(keys)))
    if len(found) > 1 and tag_column is None:
        logger.warning(
            "%s: several keys spell spans (%s); `tag_column` (`--tag-column`) takes another than the "
            "one with the most",
            path,
            ", ".join(f"{keys[i]} {number:,}" for i, number in found.items()),
        )
    best = keys[max(found, key=found.__getitem__)] if found else (keys or [TAG_KEYS[0]])[0]
    key = tag_column or best
    return key, find_scheme(tags.get(key, []))


def keys_of_tags(record: Any) -> List[str]:
    """Returns the keys of a record under which each token may have a tag."""
    lists = (
        {k: v for k, v in record.items() if isinstance(v, list)} if isinstance(record, dict) else {}
    )
    token_key = next((key for key in TOKEN_KEYS if key in lists), None)
    if token_key is None or not all(isinstance(token, str) for token in lists[token_key]):
        return []
    return [
        key
        for key, tags in lists.items()
        if key not in TOKEN_KEYS
        and (key in TAG_KEYS or len(tags) == len(lists[token_key]) > 0)
        and all(type(tag) in (str, int) for tag in tags)
    ]


def is_parquet(path: PathOrAddress) -> bool:
    """Whether a file is Parquet by its first bytes."""
    with open_input(path) as file:
        return file.read(4) == b"PAR1"


def _text(
    record: Any,
    place: str,
    tag_key: Optional[str],
    features: Dict[str, Any],
    label_names: Optional[Sequence[str]],
    scheme: Scheme,
) -> AnnotatedText:
    """Reads a record; tags are not read without a `tag_key`."""
    keys = record if isinstance(record, dict) else {}
    token_key = next((key for key in TOKEN_KEYS if isinstance(keys.get(key), list)), None)
    if token_key is None or (tag_key is not None and not isinstance(keys.get(tag_key), list)):
        raise ValueError(
            f"{place}: expected lists `{TOKEN_KEYS[0]}` and `{tag_key or TAG_KEYS[0]}`, got "
            f"{', '.join(keys) or str(record)[:80]}"
        )
    properties = dict(record)
    tokens = properties.pop(token_key)
    tags = properties.pop(tag_key) if tag_key else ["O"] * len(tokens)
    if not all(isinstance(token, str) for token in tokens):
        raise ValueError(f"{place}: expected `{token_key}` to be strings, got {tokens!r:.80}")
    names = label_names or _names(features.get(tag_key or ""))
    tags = [_tag(tag, names, f"{place}: `{tag_key}`") for tag in tags]
    text = properties.pop("text", None)
    given = text if isinstance(text, str) else None
    return text_of_tokens(tokens, tags, place, given, properties, scheme=scheme)


def _tag(tag: Any, names: Optional[Sequence[str]], place: str) -> str:
    if isinstance(tag, str):
        return tag
    if not isinstance(tag, int) or isinstance(tag, bool):
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
    """Finds the names of classes in the description of a feature, whose nesting differs by release."""
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
    return _dict_in(info, "features")


def _dict_in(value: Any, key: str) -> Dict[str, Any]:
    """Returns what an object of JSON has under a key; {} if that is no object, or there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from None
    return pyarrow


def _read_parquet(path: PathOrAddress) -> Tuple[Iterator[Tuple[str, Any]], Dict[str, Any]]:
    """Returns the rows of a Parquet file with their places, and the features of its metadata."""
    pyarrow = _pyarrow()
    opened = ExitStack()
    try:
        file = pyarrow.parquet.ParquetFile(opened.enter_context(open_input(path)))
        metadata = (file.schema_arrow.metadata or {}).get(b"huggingface", b"{}").decode()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{path}: expected a Parquet file ({error})") from None
    info = _dict_in(parsed_json(metadata, f"{path}: its metadata"), "info")

    def rows() -> Iterator[Tuple[str, Any]]:
        number = 0
        with opened:
            try:
                for batch in file.iter_batches():
                    for record in batch.to_pylist():
                        number += 1
                        yield f"{path}, row {number}", record
            except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
                reason = " ".join(str(error).split())
                raise ValueError(f"{path}: damaged behind row {number} ({reason})") from None

    return rows(), _dict_in(info, "features")


def _record(text: AnnotatedText) -> Dict[str, Any]:
    tokens, tags = tokens_and_tags(text)
    taken = {*TOKEN_KEYS, *TAG_KEYS, "text", PLAIN_TAGS}
    rest = {key: value for key, value in text.properties.items() if key not in taken}
    return {**rest, "text": text.text, "tokens": tokens, "ner_tags": tags}


def write_huggingface(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes `text`, `tokens` and `ner_tags` in BIO as strings; Parquet if the path ends in `.parquet`.

    Parquet has no room for properties, which differ between records.
    """
    if path.suffix.lower() != ".parquet":
        write_lines(path, map(_record, texts))
        return
    pyarrow = _pyarrow()
    keys = ("text", "tokens", "ner_tags")
    rows = [{key: record[key] for key in keys} for record in map(_record, texts)]
    strings = pyarrow.list_(pyarrow.string())
    types = (pyarrow.string(), strings, strings)
    table = pyarrow.Table.from_pylist(rows, schema=pyarrow.schema(list(zip(keys, types))))
    with write_atomically(path) as new:
        pyarrow.parquet.write_table(table, new)
