"""All formats by name."""

from functools import partial
from pathlib import Path
from typing import (
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
)

from tagger.common.did_you_mean import did_you_mean
from tagger.common.inputs import COMPRESSIONS, PathOrAddress, is_address
from tagger.data.formats.annotated_text import SEVERAL, AnnotatedText
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
from tagger.data.reading import DETECTED, Reading
from tagger.data.survey.annotator_columns import annotator_columns
from tagger.data.survey.column_survey import NAMES, survey_columns
from tagger.data.text_encodings import open_text


class Format(NamedTuple):
    """A format of annotated texts.

    Attributes:
        suffixes: The usual suffixes of its files.
        read: Reads a file, as a `Reading` says.
        write: Writes texts to a new file; None if the format is only read.
        keeps: What it can store besides texts and entities: `tokens`, `overlaps`, `properties`, and
            `documents`, which are among the properties.
        takes: What a user may specify, of `OPTIONS`.
    """

    suffixes: Tuple[str, ...]
    read: Callable[[PathOrAddress, Reading], Iterator[AnnotatedText]]
    write: Optional[Callable[[Iterable[AnnotatedText], Path], None]]
    keeps: Tuple[str, ...]
    takes: Tuple[str, ...] = ("text_encoding",)


#: The options that only some formats have.
OPTIONS = ("label_names", "offsets", "text_encoding", "token_column", "tag_column")
_RECORDS = ("overlaps", "properties")
_OF_SPANS, _OF_TAGS = ("offsets", "text_encoding"), ("text_encoding", "tag_column")
_OF_HUB, _OF_COLUMNS = ("label_names", *_OF_TAGS), ("token_column", *_OF_TAGS)
_doccano, _spacy_json = partial(write_lists, key="label"), partial(write_lists, key="entities")
_tokens, _texts = ("tokens", "documents"), ("tokens", "properties")
_of_prodigy = ("tokens", *_RECORDS)
_of_hub = (".jsonl", ".json", ".parquet")
_of_columns = (".txt", ".conll", ".bio", ".iob", ".tsv")

#: The formats that can be written and read.
FORMATS: Dict[str, Format] = {
    "doccano": Format((".jsonl",), read_span_records, _doccano, _RECORDS, _OF_SPANS),
    "prodigy": Format((".jsonl",), read_span_records, write_prodigy, _of_prodigy, _OF_SPANS),
    "spacy_json": Format((".jsonl", ".json"), read_span_records, _spacy_json, _RECORDS, _OF_SPANS),
    "huggingface": Format(_of_hub, read_huggingface, write_huggingface, _texts, _OF_HUB),
    "label_studio": Format((".json",), read_label_studio, write_label_studio, _RECORDS, _OF_SPANS),
    "spacy": Format((".spacy",), read_spacy, write_spacy, ("tokens", "overlaps"), ()),
    "brat": Format(("",), read_brat, write_brat, ("overlaps",), _OF_SPANS),
    "csv": Format((".csv", ".tsv"), read_csv, write_csv, ("overlaps", "documents"), _OF_SPANS),
    "conllu": Format((".conllu",), read_conllu, write_conllu, _tokens, _OF_TAGS),
    "columns": Format(_of_columns, read_columns, write_columns, _tokens, _OF_COLUMNS),
}
#: All formats that can be read. A document of `webanno` is a file, so it is not written.
READ_FORMATS: Dict[str, Format] = {
    **FORMATS,
    "webanno": Format((".tsv",), read_webanno, None, ("tokens", "overlaps"), _OF_TAGS),
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


def describe_file(path: PathOrAddress, format: str, reading: Reading) -> List[Tuple[str, str]]:
    """Returns topics and what is said of them; nothing for self-describing formats."""
    if format == "columns":
        found = survey_columns(path, reading).describe()
        several = annotator_columns(path, reading) if reading.tag_column is None else {}
        if several:
            found.append(("sources", f"{', '.join(several)}, it seems; {SEVERAL}"))
        return found
    if format != "spacy" and (is_address(path) or Path(path).is_file()):
        with open_text(path, reading.text_encoding) as (_, text_encoding):
            if text_encoding != "utf-8" and not is_arrow(path):
                return [("text", NAMES.get(text_encoding, text_encoding.upper()))]
    return []


def read_texts(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads the texts of a file.

    Args:
        path: A file, or a folder for brat or WebAnno.
        reading: How to read it, such as `Reading("doccano", offsets="bytes")`. If not `labelled`, texts
            without annotations are no errors, and have no entities.

    Yields:
        The texts, read lazily.

    Raises:
        ValueError: If the format is unknown or lacks an option, or if a text is malformed; the message
            says where.
    """
    name = reading.format or format_of(path, reading.labelled)
    found = format_named(name, READ_FORMATS)
    for option in OPTIONS:
        if getattr(reading, option) is not None and option not in found.takes:
            raise ValueError(f"{path}: format {name} has no `{option}`; leave it out")
    return found.read(path, reading)


def write_texts(texts: Iterable[AnnotatedText], path: Path, format: str) -> None:
    """Writes texts to a new file, atomically; a name of a compressed file is a `ValueError`."""
    if path.suffix in COMPRESSIONS:
        raise ValueError(
            f"{path}: compressed files are not written; name {path.with_suffix('')}, and compress it"
        )
    write = format_named(format).write
    assert write is not None
    write(texts, path)
