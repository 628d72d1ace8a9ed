"""How `predict-file` turns the lines of JSON that it has made into the output that was asked for."""

import shutil
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Callable, Iterator, List, Optional

from allennlp.common.checks import ConfigurationError

from tagger.common.inputs import COMPRESSIONS, is_address
from tagger.common.parquet import MAX_ROWS, batches, import_pyarrow, is_parquet, open_parquet
from tagger.predictors.prediction_type import prediction_type, predictions_of_lines

#: Writes the lines of a file to another, in the format of the output.
Encoder = Callable[[Path, BinaryIO], None]


def encoder_of(
    output: str, input_file: str, column: str = "prediction", nested: bool = False
) -> Optional[Encoder]:
    """Returns what makes an output of a file of lines; None if that file only needs another name.

    Args:
        output: A path or an address.
        input_file: If it is Parquet and the output too, the output has its columns.
        column: The name of the column of predictions in Parquet.
        nested: Whether this column has fields instead of a text in JSON.

    Raises:
        ConfigurationError: If the input has a column of this name.
    """
    if not is_parquet(output):
        packs = Path(output).suffix in COMPRESSIONS or is_address(output)
        return _copy if packs else None
    source = input_file if is_parquet(input_file) else None
    import_pyarrow()
    if source:
        with open_parquet(source) as rows:
            if column in rows.schema_arrow.names:
                raise ConfigurationError(
                    f"`--column` {column} is a column of {source}; give another name"
                )
    return lambda part, file: _write_parquet(part, file, source, column, nested)


def _copy(part: Path, file: BinaryIO) -> None:
    with part.open("rb") as lines:
        shutil.copyfileobj(lines, file, 1 << 20)


def _write_parquet(
    part: Path, file: BinaryIO, source: Optional[str], column: str, nested: bool
) -> None:
    pa = import_pyarrow()
    field = pa.field(column, prediction_type() if nested else pa.string())
    with ExitStack() as opened:
        lines = opened.enter_context(part.open("rb"))
        others: Iterator[Any] = iter(())
        fields = [field]
        if source:
            rows = opened.enter_context(open_parquet(source))
            others, fields = batches(rows), [*rows.schema_arrow, field]
        writer = opened.enter_context(pa.parquet.ParquetWriter(file, pa.schema(fields)))
        for batch in others:
            chunk = list(islice(lines, batch.num_rows))
            columns = [*batch.columns, _column(chunk, field.type)]
            writer.write_batch(pa.record_batch(columns, schema=writer.schema))
        while chunk := list(islice(lines, MAX_ROWS)):
            writer.write_batch(pa.record_batch([_column(chunk, field.type)], schema=writer.schema))


def _column(lines: List[bytes], type: Any) -> Any:
    pa = import_pyarrow()
    if type == pa.string():
        return pa.array([line.rstrip(b"\n") for line in lines], type)
    return predictions_of_lines(lines)
