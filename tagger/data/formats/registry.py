"""All formats by name, and which of them a file has."""

from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from tagger.common.did_you_mean import did_you_mean
from tagger.common.inputs import PathOrAddress, bare_suffix, is_address, open_input
from tagger.data.formats.annotated_text import AnnotatedText
from tagger.data.formats.brat import read_brat, write_brat
from tagger.data.formats.conllu import read_conllu, write_conllu
from tagger.data.formats.huggingface import (
    TAG_KEYS,
    TOKEN_KEYS,
    read_huggingface,
    write_huggingface,
)
from tagger.data.formats.json_files import read_records
from tagger.data.formats.label_studio import read_label_studio, write_label_studio
from tagger.data.formats.spacy_docs import read_spacy, write_spacy
from tagger.data.formats.span_records import (
    read_span_records,
    write_doccano,
    write_prodigy,
    write_spacy_json,
)
from tagger.data.formats.tables import (
    columns_of,
    delimiter_of,
    read_columns,
    read_csv,
    write_columns,
    write_csv,
)


class Format(NamedTuple):
    """A format of annotated texts.

    Attributes:
        name: Its name, as `--from` and `--to` take it.
        suffixes: How its files usually end.
        description: What it is, in a few words.
        read: Reads a file; takes those of the options `label_names`, `offsets` and `labelled` that are
            in `options`.
        write: Writes texts to a new file.
        options: The options of `read`.
        keeps: What it has room for besides texts and entities: `tokens`, `overlaps`, `properties`.
    """

    name: str
    suffixes: Tuple[str, ...]
    description: str
    read: Callable[..., Iterator[AnnotatedText]]
    write: Callable[[Iterable[AnnotatedText], Path], None]
    options: Tuple[str, ...] = ()
    keeps: Tuple[str, ...] = ()


_TASK_KEYS = ("annotations", "predictions", "completions")
_SPANS = ("overlaps", "properties")

FORMATS: Dict[str, Format] = {
    each.name: each
    for each in (
        Format(
            "doccano",
            (".jsonl",),
            "doccano's JSON lines, with `label`",
            read_span_records,
            write_doccano,
            ("offsets", "labelled"),
            _SPANS,
        ),
        Format(
            "prodigy",
            (".jsonl",),
            "Prodigy's JSON lines, with `spans` and `tokens`",
            read_span_records,
            write_prodigy,
            ("offsets", "labelled"),
            ("tokens", *_SPANS),
        ),
        Format(
            "spacy_json",
            (".jsonl", ".json"),
            "spaCy's JSON, with `entities`",
            read_span_records,
            write_spacy_json,
            ("offsets", "labelled"),
            _SPANS,
        ),
        Format(
            "huggingface",
            (".jsonl", ".json", ".parquet"),
            "Hugging Face's `tokens` and `ner_tags`, as JSON lines or Parquet",
            read_huggingface,
            write_huggingface,
            ("label_names", "labelled"),
            ("tokens", "properties"),
        ),
        Format(
            "label_studio",
            (".json",),
            "Label Studio's tasks; written as pre-annotations",
            read_label_studio,
            write_label_studio,
            ("offsets", "labelled"),
            _SPANS,
        ),
        Format(
            "spacy",
            (".spacy",),
            "spaCy's binary documents (DocBin)",
            read_spacy,
            write_spacy,
            keeps=("tokens",),
        ),
        Format(
            "brat",
            ("",),
            "brat's folder of `.txt` and `.ann` files",
            read_brat,
            write_brat,
            ("offsets", "labelled"),
            ("overlaps",),
        ),
        Format(
            "csv",
            (".csv", ".tsv"),
            "CSV with a header: a text a row, or a token a row",
            read_csv,
            write_csv,
            ("offsets", "labelled"),
            ("overlaps",),
        ),
        Format(
            "conllu",
            (".conllu",),
            "CoNLL-U, with entities in MISC, or parts of speech",
            read_conllu,
            write_conllu,
            keeps=("tokens",),
        ),
        Format(
            "columns",
            (".txt", ".conll", ".bio", ".iob", ".tsv"),
            "a token and its tag on each line",
            read_columns,
            write_columns,
            keeps=("tokens",),
        ),
    )
}


def format_named(name: str) -> Format:
    """Returns a format.

    Raises:
        ValueError: If there is none of this name; the message has the known ones.
    """
    if name not in FORMATS:
        raise ValueError(
            f"there is no format {name!r}, expected one of {', '.join(FORMATS)}"
            f"{did_you_mean(name, FORMATS)}"
        )
    return FORMATS[name]


def recognise(path: PathOrAddress, labelled: bool = True) -> Optional[str]:
    """Returns the name of a file's format by what is in it; None for a column file, or if unknown.

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
    with open_input(path) as file:
        start = file.read(1 << 16)
    if start.startswith(b"PAR1"):
        return "huggingface"
    text = start.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    if text.startswith(("{", "[")):
        return _recognise_json(path, labelled)
    if bare_suffix(path) == ".spacy":
        return "spacy"
    return _recognise_table(text, labelled)


def _recognise_table(text: str, labelled: bool) -> Optional[str]:
    """Recognises CoNLL-U by its first line of a token, and CSV by its header."""
    lines = text.splitlines()
    row = next((line for line in lines if line and not line.startswith("#")), "").split("\t")
    if len(row) == 10 and row[0] in ("1", "1-2", "0.1"):
        return "conllu"
    header = lines[0] if lines else ""
    delimiter = delimiter_of(header)
    if delimiter in header and columns_of(header.replace('"', "").split(delimiter), labelled):
        return "csv"
    return None


def _recognise_json(path: PathOrAddress, labelled: bool) -> Optional[str]:
    """Recognises a format by its first record."""
    try:
        _, record = next(read_records(path), ("", None))
    except ValueError:
        return None
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        return "spacy_json"
    if not isinstance(record, dict):
        return None
    return _format_of_record(record) or (None if labelled else _format_of_unlabelled(record))


def _format_of_record(record: Dict[str, Any]) -> Optional[str]:
    lists = {key: value for key, value in record.items() if isinstance(value, list)}
    tokens = [lists[key] for key in TOKEN_KEYS if key in lists]
    if any(key in lists for key in TAG_KEYS) and tokens and _all(tokens[0], str):
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
    if any(isinstance(each, dict) and "labels" in each for each in lists.get("label", [])):
        return "label_studio"
    if "spans" in lists:
        return "prodigy"
    if "entities" in lists:
        has_offsets = any(
            isinstance(each, dict) and "start_offset" in each for each in lists["entities"]
        )
        return "doccano" if has_offsets else "spacy_json"
    keys = [key for key in ("label", "labels") if key in lists]
    if keys and all(isinstance(each, (list, dict)) for each in lists[keys[0]]):
        return "doccano"
    return None


def _all(values: Iterable[Any], kind: type) -> bool:
    return all(isinstance(value, kind) for value in values)


def is_perhaps_columns(path: PathOrAddress) -> bool:
    """Whether the name of a file whose format was not recognised may be that of a column file."""
    suffix = bare_suffix(path)
    others = {suffix for each in FORMATS.values() for suffix in each.suffixes if suffix}
    return suffix not in others or suffix in FORMATS["columns"].suffixes


def read_texts(
    path: PathOrAddress,
    format: Optional[str] = None,
    label_names: Optional[Sequence[str]] = None,
    offsets: Optional[str] = None,
    labelled: bool = True,
) -> Iterator[AnnotatedText]:
    """Reads the texts of a file.

    Args:
        path: A file, or a folder for brat.
        format: The name of its format; None to look into the file.
        label_names: The names of integer tags, for `huggingface`.
        offsets: What offsets count: `characters`, `bytes` of UTF-8, or `utf16` units.
        labelled: Whether texts that nobody has annotated are errors, or are left out, as the format has
            it; otherwise they have no entities.

    Yields:
        The texts, as they are read.

    Raises:
        ValueError: If the format is unknown or has no such option, or if a text is not as expected; the
            message says where.
    """
    name = format or recognise(path, labelled)
    if name is None:
        raise ValueError(
            f"{path}: its format was not recognised; name it, one of {', '.join(FORMATS)}"
        )
    found = format_named(name)
    options = {"label_names": label_names, "offsets": offsets}
    given: Dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in found.options:
            raise ValueError(f"{path}: format {name} has no `{key}`; leave it out")
    if not labelled and "labelled" in found.options:
        given["labelled"] = False
    return found.read(path, **given)


def write_texts(texts: Iterable[AnnotatedText], path: Path, format: str) -> None:
    """Writes texts to a new file, which appears once it is whole.

    Raises:
        FileExistsError: If the file exists.
        ValueError: If the format is unknown, or if a text does not fit into it.
    """
    format_named(format).write(texts, path)
