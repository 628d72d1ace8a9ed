"""Recognises a first line that names the columns."""

import re
from collections import Counter
from typing import Collection, Container, Optional, Sequence

from tagger.data.column_file import Row
from tagger.data.survey.schemes import marks_outside
from tagger.data.survey.spellings import (
    OUTSIDE,
    SPELLINGS,
    WITHOUT_SEPARATOR,
    find_spelling,
    outside_tags,
)

#: Possible names of columns, in lowercase, best first.
NAMES = {
    "sentence": (
        *("sentence", "sentence #", "sentence_id", "sent_id", "sentence_number", "sentence id"),
        *("sentence_idx", "sent", "sent_idx", "sentid", "sentenceid"),
    ),
    "token": ("token", "word", "tokens", "words", "form", "token_text", "text"),
    "tag": (
        *("tag", "ner_tag", "ner", "ner_tags", "label", "tags", "labels", "entity", "entities"),
        *("named_entity", "ne", "ne_tag", "iob", "bio", "iob_tag", "bio_tag", "annotation"),
    ),
}
_OTHER_NAMES = ("pos", "pos_tag", "upos", "xpos", "lemma", "chunk", "id", "idx", "index", "#")


#: Names that are not known need this many lines below them, and many if labels have no prefixes.
_FEWEST, _MANY = 5, 50
_NUMBER = re.compile(r"\d+(\.\d+)?")
#: What a name of a column looks like.
_NAME = re.compile(r"[^\W\d_][\w #.()-]*")


def find_header(rows: Sequence[Row], given: Container[str] = ()) -> Optional[Row]:
    """Returns the first row if it names the columns.

    That is so if it has a `given` name, or names columns of tokens and of tags; or, in a file with tags,
    if no cell is a tag in a column with spans, and if one name is known or all cells look like names.
    """
    if not rows:
        return None
    first, *others = rows
    names = [cell.lower() for cell in first.columns]
    tag = named(names, "tag")
    if not others:
        return first if len(names) > 1 and names_tokens(names) and tag is not None else None
    if names_tokens(names) and tag is not None:
        others = [row for row in others if row.columns != first.columns]  # of merged files
        is_name = all(row.columns[tag] != first.columns[tag] for row in others)
    else:
        is_given = any(cell in given for cell in first.columns)
        is_name = is_given or _names_columns(first.columns, others)
    return first if is_name else None


def _names_columns(first: Sequence[str], others: Sequence[Row]) -> bool:
    """Whether cells are names, and no tags, in a file with tags, although some names are unknown."""
    names = [*map(str.lower, first)]
    known = {*_OTHER_NAMES, *(name for names in NAMES.values() for name in names)}
    is_unknown = known.isdisjoint(names)
    if is_unknown and not (len(others) >= _FEWEST and all(map(_NAME.fullmatch, first))):
        return False
    has_spans = has_numbers = recurs = False
    for column, cell in enumerate(first):
        counts = Counter(row.columns[column] for row in others)
        spelling = find_spelling(counts)
        recurs |= cell.lower() in map(str.lower, counts)
        has_numbers |= all(map(_NUMBER.fullmatch, counts))
        if spelling is not None:
            outside = (*OUTSIDE, *outside_tags(counts, spelling))
            has_spans |= not is_unknown or any(tag in counts for tag in outside)
            if _is_tag(cell, counts, spelling):
                return False
        elif len(others) >= _MANY and marks_outside(counts):
            # A first token may have a label that no other has, but that is rare if no other label is.
            has_spans |= cell not in (*OUTSIDE, *counts) and min(counts.values()) > 2
    return (has_spans or has_numbers) and not recurs if is_unknown else has_spans


def _is_tag(cell: str, counts: Collection[str], spelling: str) -> bool:
    """Whether a cell is a tag, or the label of others."""
    pattern = SPELLINGS[spelling]
    match = pattern.fullmatch(cell)
    if match and spelling in WITHOUT_SEPARATOR:  # many words begin like tags
        matches = map(pattern.fullmatch, counts)
        return any(each and each["label"] == match["label"] for each in matches)
    return cell in OUTSIDE or cell in counts or bool(match)


def names_tokens(header: Sequence[str]) -> bool:
    """Whether the names include columns of tokens and of tags."""
    names = [cell.lower() for cell in header]
    return None not in (named(names, "token"), named(names, "tag"))


def named(names: Sequence[str], kind: str) -> Optional[int]:
    """Returns the number of the column with the best name of a kind."""
    return next((names.index(name) for name in NAMES[kind] if name in names), None)
