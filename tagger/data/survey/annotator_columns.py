"""Finds the columns of a file that hold the tags of several annotators."""

import re
from collections import Counter
from dataclasses import replace
from typing import Dict

from tagger.common.inputs import PathOrAddress
from tagger.data.reading import Reading
from tagger.data.survey.column_survey import survey_columns
from tagger.data.survey.schemes import labels_in

#: Columns that are named like this have the tags of annotators.
_NAME = re.compile(r"(a|ann|annotator|coder|rater|user|worker)[ _-]?\d+", re.IGNORECASE)


def annotator_columns(path: PathOrAddress, reading: Reading) -> Dict[str, int]:
    """Returns the columns with the tags of an annotator each, by name; none if there are not several.

    That are columns with names like `A1`, or else all columns with spans, if these have labels of the
    column that is read by default.
    """
    found = survey_columns(path, reading)
    tag = found.layout.tag
    columns = [i for i, name in enumerate(found.header) if _NAME.fullmatch(name)]
    if len(columns) < 2 and tag is not None and len(found.spans) > 1:
        labels: Dict[int, Counter[str]] = {}
        for column in found.spans:
            own = survey_columns(path, replace(reading, tag_column=column))
            labels[column] = Counter()
            for rows in own.sentences():
                labels[column].update(labels_in([row.columns[column] for row in rows], own.scheme))
        columns = [column for column, own in labels.items() if own.keys() & labels[tag].keys()]
    if len(columns) < 2:
        return {}
    return {found.header[i] if found.header else f"column {i}": i for i in columns}
