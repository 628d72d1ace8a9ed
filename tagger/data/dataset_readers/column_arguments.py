"""Checks of the arguments of the reader `column`."""

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from allennlp.common.checks import ConfigurationError

from tagger.common.ranges import check_is_one_of, check_number
from tagger.data.column_file import DOCUMENT_BORDERS
from tagger.data.formats import OVERLAPPING, READ_FORMATS
from tagger.data.survey.columns import Column


def tag_columns(
    column: Union[int, str, List[Column], None], label_chains: bool
) -> Tuple[Optional[Column], Sequence[Column]]:
    """Returns the column of the tags, and further ones."""
    if not isinstance(column, list):
        return column, ()
    if not (label_chains and column):
        raise ConfigurationError(
            f"`tag_column` is {column}; several columns need `label_chains: true`"
        )
    return column[0], column[1:]


def check_documents(documents: Optional[str], max_document_tokens: int, instances: str) -> None:
    """Checks what makes an instance."""
    if documents not in (None, *DOCUMENT_BORDERS):
        raise ConfigurationError(
            f"`documents` must be one of {', '.join(DOCUMENT_BORDERS)}, or null; got {documents!r}"
        )
    check_number("max_document_tokens", max_document_tokens, max_document_tokens >= 1, "at least 1")
    check_is_one_of("instances", instances, ("documents", "sentences"))
    if instances == "sentences" and documents is None:
        raise ConfigurationError(
            "`instances` is 'sentences', which is for sentences of documents; set `documents` to "
            f"one of {', '.join(DOCUMENT_BORDERS)}, or leave `instances` out"
        )


def check_texts(
    format: Optional[str], overlapping: str, max_sentence_tokens: Optional[int]
) -> None:
    """Checks how texts are read."""
    check_is_one_of("format", format or "columns", tuple(READ_FORMATS))
    check_is_one_of("overlapping", overlapping, OVERLAPPING)
    if max_sentence_tokens is not None:
        is_valid = max_sentence_tokens >= 1
        check_number("max_sentence_tokens", max_sentence_tokens, is_valid, "at least 1")


def text_options(
    label_names: Optional[List[str]],
    offsets: Optional[str],
    text_encoding: Optional[str],
    tag_column: Optional[Column],
) -> Dict[str, Any]:
    """Returns the options of `read_texts`, of which a format takes those that it knows."""
    return {
        "label_names": label_names,
        "offsets": offsets,
        "text_encoding": text_encoding,
        "tag_column": tag_column if isinstance(tag_column, str) else None,
    }
