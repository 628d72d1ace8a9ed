"""Data sets of Hugging Face: `tokens` and `ner_tags`, as JSON lines or as Parquet."""

from contextlib import ExitStack
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

#: Keys under which data sets have tokens and tags, in the order in which we look.
TOKEN_KEYS = ("tokens", "words")
TAG_KEYS = ("ner_tags", "tags", "labels", "ner", "pos_tags")


def read_huggingface(
    path: PathOrAddress, label_names: Optional[Sequence[str]] = None, labelled: bool = True
) -> Iterator[AnnotatedText]:
    """Reads a data set of tokens and tags.

    The text is the record's `text` if it has one, else the tokens joined. Integers take their names from
    the option, from the metadata of a Parquet file, or from a `dataset_info.json` beside the file.

    Args:
        path: A file of JSON lines, a list of records, or a Parquet file.
        label_names: The name of each integer, from 0.
        labelled: Whether tags are read, which each record then needs.

    Raises:
        ValueError: If a record is not as expected, or an integer has no name; the message says where.
        ImportError: If the file is Parquet and pyarrow is missing.
    """
    records: Iterable[Tuple[str, Any]]
    features = _features_beside(path)
    if is_parquet(path):
        records, found = _read_parquet(path)
        features = found or features
    else:
        records = read_records(path)
    for place, record in records:
        yield _text(record, place, features if labelled else None, label_names)


def is_parquet(path: PathOrAddress) -> bool:
    """Whether a file is Parquet by its first bytes."""
    with open_input(path) as file:
        return file.read(4) == b"PAR1"


def _text(
    record: Any,
    place: str,
    features: Optional[Dict[str, Any]],
    label_names: Optional[Sequence[str]],
) -> AnnotatedText:
    """Reads a record; tags are not read without `features`."""
    keys = record if isinstance(record, dict) else {}
    token_key = next((key for key in TOKEN_KEYS if isinstance(keys.get(key), list)), None)
    tag_key = next((key for key in TAG_KEYS if isinstance(keys.get(key), list)), None)
    if token_key is None or (tag_key is None and features is not None):
        raise ValueError(
            f"{place}: expected lists `tokens` and `ner_tags`, got {', '.join(keys) or str(record)[:80]}"
        )
    properties = dict(record)
    tokens, tags = properties.pop(token_key), properties.pop(tag_key, None)
    if not all(isinstance(token, str) for token in tokens):
        raise ValueError(f"{place}: expected `{token_key}` to be strings, got {tokens!r:.80}")
    if features is None:
        tags = ["O"] * len(tokens)
    else:
        names = label_names or _names(features.get(tag_key or ""))
        tags = [_tag(tag, names, f"{place}: `{tag_key}`") for tag in tags]
    text = properties.pop("text", None)
    return text_of_tokens(tokens, tags, place, text if isinstance(text, str) else None, properties)


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
