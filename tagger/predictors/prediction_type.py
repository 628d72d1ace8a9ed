"""The Arrow type of a tagger's predictions, for nested Parquet columns, Ray and Spark."""

import io
from typing import Any, Sequence

from tagger.common.parquet import import_pyarrow


def prediction_type() -> Any:
    """Returns the `pyarrow.StructType` of predictions by the predictor `sequence_tagger`.

    It is the same for all taggers and options, so the files of several runs share a schema; outputs that
    were not requested are null. `probabilities` are left out.
    """
    pa = import_pyarrow()
    text, whole, number = pa.string(), pa.int64(), pa.float64()
    texts, places = pa.list_(text), pa.list_(whole)
    entity = {
        "label": text,
        "text": text,
        **dict.fromkeys(("start", "end", "first", "last"), whole),
    }
    entities = pa.list_(pa.struct({**entity, "probability": number}))
    fields = {"text": text, "tokens": texts, "tags": texts, "labels": pa.list_(texts)}
    fields |= {"sentences": pa.list_(places), "entities": entities, "candidates": entities}
    answers = pa.struct({"token": whole, "alternatives": entities, "none": number})
    sequence = pa.struct({"tags": texts, "probability": number})
    of_sentence = {"first": whole, "last": whole, "sequences": pa.list_(sequence)}
    fields |= {"sets": pa.list_(answers), "sequences": pa.list_(pa.struct(of_sentence))}
    fields |= {"leak_probability": number, "expected_missed": number, "error": text}
    return pa.struct(fields)


def predictions_of_lines(lines: Sequence[bytes]) -> Any:
    """Parses one or more lines from `BatchedPredictor.dump_line` into an array of `prediction_type`."""
    pa = import_pyarrow()
    from pyarrow import json

    schema = pa.schema(list(prediction_type()))
    # Arrow parses JSON eight times as fast as it converts Python objects.
    table = json.read_json(
        io.BytesIO(b"".join(lines)),
        json.ReadOptions(use_threads=False, block_size=1 + sum(map(len, lines))),
        json.ParseOptions(schema, unexpected_field_behavior="ignore"),
    )
    return table.to_struct_array().combine_chunks()
