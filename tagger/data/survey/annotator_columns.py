"""Finds the columns of a file that hold the tags of several annotators."""

import re
from dataclasses import replace
from typing import Dict, Set

from tagger.common.inputs import PathOrAddress
from tagger.data.reading import Reading
from tagger.data.survey.column_survey import survey_columns
from tagger.data.survey.schemes import labels_in

#: Columns that are named like this have the tags of annotators.
_NAME = re.compile(r"(a|ann|annotator|coder|rater|user|worker)[ _-]?\d+", re.IGNORECASE)
#: The share of tokens with a label of one of two annotators that have one of both.
_ALIKE = 0.3


def annotator_columns(path: PathOrAddress, reading: Reading) -> Dict[str, int]:
    """Returns the columns with the tags of an annotator each, by name; none if there are not several.

    That are columns with names like `A1`, or else all columns with spans, if these have labels of the
    column that is read by default, and mostly on the same tokens, unlike those for nested entities.
    """
    found = survey_columns(path, reading)
    tag = found.layout.tag
    columns = [i for i, name in enumerate(found.header) if _NAME.fullmatch(name)]
    if len(columns) < 2 and tag is not None and len(found.spans) > 1:
        labels: Dict[int, Set[str]] = {}
        marked: Dict[int, Set[int]] = {}
        for column in found.spans:
            own = survey_columns(path, replace(reading, tag_column=column))
            sentences = list(own.sentences())
            tags = [[row.columns[column] for row in rows] for rows in sentences]
            labels[column] = {label for each in tags for label in labels_in(each, own.scheme)}
            every = (row for rows in sentences for row in rows)
            marked[column] = {row.number for row in every if row.columns[column] != "O"}
        columns = [
            column
            for column in found.spans
            if labels[column] & labels[tag]
            and len(marked[column] & marked[tag]) >= _ALIKE * len(marked[column] | marked[tag])
        ]
    if len(columns) < 2:
        return {}
    return {found.header[i] if found.header else f"column {i}": i for i in columns}
