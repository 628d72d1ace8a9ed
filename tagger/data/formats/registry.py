"""All formats by name, and which of them a file has."""

from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from tagger.common.did_you_mean import did_you_mean
from tagger.common.inputs import PathOrAddress, is_address
from tagger.data.formats.annotated_text import AnnotatedText
from tagger.data.formats.brat import read_brat, write_brat
from tagger.data.formats.conllu import read_conllu, write_conllu
from tagger.data.formats.huggingface import is_parquet, read_huggingface, write_huggingface
from tagger.data.formats.label_studio import read_label_studio, write_label_studio
from tagger.data.formats.recognition import format_of
from tagger.data.formats.spacy_docs import read_spacy, write_spacy
from tagger.data.formats.span_records import (
    read_span_records,
    write_doccano,
    write_prodigy,
    write_spacy_json,
)
from tagger.data.formats.tables import (
    read_columns,
    read_csv,
    write_columns,
    write_csv,
)
from tagger.data.survey.column_survey import NAMES, Known, survey_columns
from tagger.data.survey.text_encodings import open_text


class Format(NamedTuple):
    """A format of annotated texts.

    Attributes:
        name: Its name, as `--from` and `--to` take it.
        suffixes: How its files usually end.
        description: What it is, in a few words.
        read: Reads a file; takes those of the options of `read_texts` that are in `options`.
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


_SPANS = ("overlaps", "properties")
_TEXT_OPTIONS = ("offsets", "labelled", "text_encoding")

FORMATS: Dict[str, Format] = {
    each.name: each
    for each in (
        Format(
            "doccano",
            (".jsonl",),
            "doccano's JSON lines, with `label`",
            read_span_records,
            write_doccano,
            _TEXT_OPTIONS,
            _SPANS,
        ),
        Format(
            "prodigy",
            (".jsonl",),
            "Prodigy's JSON lines, with `spans` and `tokens`",
            read_span_records,
            write_prodigy,
            _TEXT_OPTIONS,
            ("tokens", *_SPANS),
        ),
        Format(
            "spacy_json",
            (".jsonl", ".json"),
            "spaCy's JSON, with `entities`",
            read_span_records,
            write_spacy_json,
            _TEXT_OPTIONS,
            _SPANS,
        ),
        Format(
            "huggingface",
            (".jsonl", ".json", ".parquet"),
            "Hugging Face's `tokens` and `ner_tags`, as JSON lines or Parquet",
            read_huggingface,
            write_huggingface,
            ("label_names", "labelled", "text_encoding", "tag_column"),
            ("tokens", "properties"),
        ),
        Format(
            "label_studio",
            (".json",),
            "Label Studio's tasks; written as pre-annotations",
            read_label_studio,
            write_label_studio,
            _TEXT_OPTIONS,
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
            _TEXT_OPTIONS,
            ("overlaps",),
        ),
        Format(
            "csv",
            (".csv", ".tsv"),
            "CSV with a header: a text a row, or a token a row",
            read_csv,
            write_csv,
            _TEXT_OPTIONS,
            ("overlaps",),
        ),
        Format(
            "conllu",
            (".conllu",),
            "CoNLL-U, with entities in MISC, or parts of speech",
            read_conllu,
            write_conllu,
            ("text_encoding", "tag_column"),
            keeps=("tokens",),
        ),
        Format(
            "columns",
            (".txt", ".conll", ".bio", ".iob", ".tsv"),
            "a token and its tag on each line",
            read_columns,
            write_columns,
            ("text_encoding", "token_column", "tag_column", "labelled"),
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


def describe_file(path: PathOrAddress, format: str, options: Mapping[str, Any]) -> List[str]:
    """Returns what a file looks like, as it is read, in lines; none for formats that tell it themselves.

    Args:
        path: The file.
        format: The name of its format.
        options: As for `read_texts`.
    """
    known = {key: value for key, value in options.items() if key in Known._fields}
    if format == "columns":
        return [
            f"{what:10}{found}" for what, found in survey_columns(path, Known(**known)).describe()
        ]
    if is_address(path) or Path(path).is_file():
        with open_text(path, options.get("text_encoding")) as (_, text_encoding):
            if format not in ("spacy",) and text_encoding != "utf-8" and not is_parquet(path):
                return [f"text      {NAMES.get(text_encoding, text_encoding.upper())}"]
    return []


def read_texts(
    path: PathOrAddress,
    format: Optional[str] = None,
    label_names: Optional[Sequence[str]] = None,
    offsets: Optional[str] = None,
    labelled: bool = True,
    **columns: Any,
) -> Iterator[AnnotatedText]:
    """Reads the texts of a file.

    Args:
        path: A file, or a folder for brat.
        format: The name of its format; None to look into the file.
        label_names: The names of integer tags, for `huggingface`.
        offsets: What offsets count: `characters`, `bytes` of UTF-8, or `utf16` units.
        labelled: Whether texts that nobody has annotated are errors, or are left out, as the format has
            it; otherwise they have no entities.
        **columns: `text_encoding`, how bytes spell text; `token_column` and `tag_column`, the columns of
            a column file, or the key of the tags in other formats.

    Yields:
        The texts, as they are read.

    Raises:
        ValueError: If the format is unknown or has no such option, or if a text is not as expected; the
            message says where.
    """
    name = format or format_of(path, labelled)
    found = format_named(name)
    options = {"label_names": label_names, "offsets": offsets, **columns}
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
