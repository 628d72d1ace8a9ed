"""Files that hold the annotations of several people or models: each is read, with its source."""

from dataclasses import replace
from pathlib import Path
from typing import Dict, Iterator, Sequence

from tagger.common.inputs import PathOrAddress, is_address
from tagger.data.formats.annotated_text import DOCUMENT, SOURCE, AnnotatedText
from tagger.data.formats.brat import users_in as users_in_brat
from tagger.data.formats.recognition import format_of
from tagger.data.formats.record_keys import annotator_of
from tagger.data.formats.registry import read_texts
from tagger.data.formats.webanno import users_in
from tagger.data.reading import DETECTED, Column, Reading
from tagger.data.survey.annotator_columns import annotator_columns
from tagger.data.survey.column_survey import survey_columns


def read_sources(
    path: PathOrAddress, reading: Reading = DETECTED, tag_columns: Sequence[Column] = ()
) -> Iterator[AnnotatedText]:
    """Reads each annotation of the texts of a file, with the name of its source.

    A text that several sources have annotated comes several times. The property `SOURCE` names who
    annotated it; it is missing where the file does not say.

    Args:
        path: A file, or a folder for brat and WebAnno.
        reading: How to read it.
        tag_columns: The columns of a column file with the tags of a source each. By default, those
            named like `A1`, or else those with spans of the same labels.
    """
    name = reading.format or format_of(path)
    reading = replace(reading, format=name, each_source=True)
    if name == "columns":
        yield from _of_columns(path, tag_columns, reading)
    elif name == "brat" and (folders := users_in_brat(path)):
        for folder in folders:
            for text in read_texts(folder, reading):
                yield text._replace(properties={**text.properties, SOURCE: folder.name})
    elif name == "webanno" and not is_address(path) and Path(path).is_dir():
        yield from _of_folder(Path(path), reading)
    else:
        if tag_columns:
            raise ValueError(f"{path}: format {name} has no columns; leave `tag_columns` out")
        yield from map(_with_source, read_texts(path, reading))


def _with_source(text: AnnotatedText) -> AnnotatedText:
    """Names the source of a text by what annotation tools say of it."""
    told = {key: value for key, value in text.properties.items() if key != SOURCE}
    source = text.properties.get(SOURCE) or annotator_of(told)
    return text._replace(properties=told if source is None else {**told, SOURCE: source})


def _of_columns(
    path: PathOrAddress, tag_columns: Sequence[Column], reading: Reading
) -> Iterator[AnnotatedText]:
    columns: Dict[str, Column] = {}
    if tag_columns:
        found = survey_columns(path, replace(reading, tag_column=tag_columns[0]))
        for each in tag_columns:
            number = found.column(each)
            columns[found.header[number] if found.header else f"column {number}"] = number
    elif reading.tag_column is None:
        columns = {**annotator_columns(path, reading)}
    if not columns:
        yield from map(_with_source, read_texts(path, reading))
    for name, column in columns.items():
        for text in read_texts(path, replace(reading, tag_column=column)):
            yield text._replace(properties={**text.properties, SOURCE: name})


def _of_folder(folder: Path, reading: Reading) -> Iterator[AnnotatedText]:
    users = users_in(folder)
    if not users:
        yield from map(_with_source, read_texts(folder, reading))
    for path in users:
        for text in read_texts(path, reading):
            told = {DOCUMENT: path.parent.name, SOURCE: path.stem}
            yield text._replace(properties=told)
