"""Predictions for the windows of recordings."""

from typing import cast

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.data.fields import MetadataField

from tagger_texts.inputs import InputError


def check_kind(is_of_numbers: bool, reads_numbers: bool) -> None:
    """Refuses texts for a tagger of numbers, and numbers for one of texts."""
    if reads_numbers and not is_of_numbers:
        raise InputError(
            "this tagger reads numbers, not text, and has no character offsets; give an array with a "
            'row for each step, {"numbers": [[0.1, 0.2], ...]}, or, with --use-dataset-reader, a CSV or '
            "Parquet file"
        )
    if is_of_numbers and not reads_numbers:
        raise InputError("this tagger reads text; give text or tokens, and no numbers")


def origin(instance: Instance) -> JsonDict:
    """Returns the name of a recording; and of a window, the first step that gets its tag there."""
    metadata = cast(MetadataField, instance["metadata"]).metadata
    first = {"first_step": metadata["window"].own_first} if "window" in metadata else {}
    return {"recording": metadata["recording"], **first}
