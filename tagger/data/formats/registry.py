"""All formats by name."""

import inspect
from functools import partial
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
from tagger.common.inputs import COMPRESSIONS, PathOrAddress, is_address
from tagger.data.formats.annotated_text import AnnotatedText
from tagger.data.formats.arrow_files import is_arrow
from tagger.data.formats.brat import read_brat, write_brat
from tagger.data.formats.conll2012 import read_conll2012
from tagger.data.formats.conllu import read_conllu, write_conllu
from tagger.data.formats.huggingface import read_huggingface, write_huggingface
from tagger.data.formats.label_studio import read_label_studio, write_label_studio
from tagger.data.formats.recognition import format_of
from tagger.data.formats.spacy_docs import read_spacy, write_spacy
from tagger.data.formats.span_records import read_span_records, write_lists, write_prodigy
from tagger.data.formats.tables import read_columns, read_csv, write_columns, write_csv
from tagger.data.formats.webanno import read_webanno
from tagger.data.survey.column_survey import NAMES, Known, survey_columns
from tagger.data.survey.text_encodings import open_text


class Format(NamedTuple):
    """A format of annotated texts.

    Attributes:
        suffixes: The usual suffixes of its files.
        read: Reads a file.
        write: Writes texts to a new file; None if the format is only read.
        keeps: What it can store besides texts and entities: `tokens`, `overlaps`, `properties`, and
            `documents`, which are among the properties.
    """

    suffixes: Tuple[str, ...]
    read: Callable[..., Iterator[AnnotatedText]]
    write: Optional[Callable[[Iterable[AnnotatedText], Path], None]]
    keeps: Tuple[str, ...]

    @property
    def options(self) -> Tuple[str, ...]:
        """The options of `read_texts` that `read` takes."""
        _, *options = inspect.signature(self.read).parameters
        return tuple(options)


_RECORDS = ("overlaps", "properties")
_doccano, _spacy_json = partial(write_lists, key="label"), partial(write_lists, key="entities")
_of_hub = (".jsonl", ".json", ".parquet")
_of_columns = (".txt", ".conll", ".bio", ".iob", ".tsv")

#: The formats that can be written and read.
FORMATS: Dict[str, Format] = {
    "doccano": Format((".jsonl",), read_span_records, _doccano, _RECORDS),
    "prodigy": Format((".jsonl",), read_span_records, write_prodigy, ("tokens", *_RECORDS)),
    "spacy_json": Format((".jsonl", ".json"), read_span_records, _spacy_json, _RECORDS),
    "huggingface": Format(_of_hub, read_huggingface, write_huggingface, ("tokens", "properties")),
    "label_studio": Format((".json",), read_label_studio, write_label_studio, _RECORDS),
    "spacy": Format((".spacy",), read_spacy, write_spacy, ("tokens", "overlaps")),
    "brat": Format(("",), read_brat, write_brat, ("overlaps",)),
    "csv": Format((".csv", ".tsv"), read_csv, write_csv, ("overlaps", "documents")),
    "conllu": Format((".conllu",), read_conllu, write_conllu, ("tokens", "documents")),
    "columns": Format(_of_columns, read_columns, write_columns, ("tokens", "documents")),
}
#: All formats that can be read. A document of `webanno` is a file, so it is not written.
READ_FORMATS: Dict[str, Format] = {
    **FORMATS,
    "webanno": Format((".tsv",), read_webanno, None, ("tokens", "overlaps")),
    "conll2012": Format((".gold_conll",), read_conll2012, None, ("tokens", "overlaps")),
}


def format_named(name: str, among: Mapping[str, Format] = FORMATS) -> Format:
    """Returns the format with this name; by default, one that can be written."""
    if name not in among:
        raise ValueError(
            f"there is no format {name!r}, expected one of {', '.join(among)}"
            f"{did_you_mean(name, among)}"
        )
    return among[name]


def describe_file(path: PathOrAddress, format: str, options: Mapping[str, Any]) -> List[str]:
    """Returns lines that describe a file; none for self-describing formats.

    `options` are those for `read_texts`.
    """
    if format == "columns":
        known = Known(**{key: value for key, value in options.items() if key in Known._fields})
        return [f"{what:10}{found}" for what, found in survey_columns(path, known).describe()]
    if format != "spacy" and (is_address(path) or Path(path).is_file()):
        with open_text(path, options.get("text_encoding")) as (_, text_encoding):
            if text_encoding != "utf-8" and not is_arrow(path):
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
        format: The name of its format; None to recognise it.
        label_names: The names of integer tags, for `huggingface`.
        offsets: The unit of offsets: `characters`, `bytes` of UTF-8, or `utf16` units.
        labelled: Whether texts without annotations are errors, or in some formats skipped; otherwise
            they have no entities.
        **columns: `text_encoding`, the encoding of the text; `token_column` and `tag_column`, the
            columns of a column file, or the key of the tags in other formats.

    Yields:
        The texts, read lazily.

    Raises:
        ValueError: If the format is unknown or lacks an option, or if a text is malformed; the message
            says where.
    """
    name = format or format_of(path, labelled)
    found = format_named(name, READ_FORMATS)
    options = {"label_names": label_names, "offsets": offsets, **columns}
    given: Dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in found.options:
            raise ValueError(f"{path}: format {name} has no `{key}`; leave it out")
    if not labelled and "labelled" in found.options:
        given["labelled"] = False
    return found.read(path, **given)


def write_texts(texts: Iterable[AnnotatedText], path: Path, format: str) -> None:
    """Writes texts to a new file, atomically; a name of a compressed file is a `ValueError`."""
    if path.suffix in COMPRESSIONS:
        raise ValueError(
            f"{path}: compressed files are not written; name {path.with_suffix('')}, and compress it"
        )
    write = format_named(format).write
    assert write is not None
    write(texts, path)
