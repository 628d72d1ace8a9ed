"""Taggers in Ray Data pipelines and anything else that passes Arrow tables to a function.

This is a module rather than a package, because AllenNLP's `import_module_and_submodules` would confuse
a package of this name with Ray itself.
"""

import json
import os
from typing import Any

from tagger.commands.line_inputs import Line
from tagger.commands.prediction_inputs import RowInputs
from tagger.common.parquet import import_pyarrow
from tagger.predictors.prediction_type import prediction_type, predictions_of_lines
from tagger.predictors.saved_tagger import load


class TaggerActor:
    """Loads a tagger once, then adds a column of predictions to each table that it is called with.

    Pass the class to `ray.data.Dataset.map_batches` with `batch_format="pyarrow"`; it does not import
    Ray. A row that cannot be predicted gets an `error` in place of a prediction, so one bad row neither
    fails nor repeats its batch.

    Args:
        archive: The archive, at a path or address that every worker can read.
        text_column: The column with texts or lists of tokens.
        column: The new column, with the fields of `prediction_type`.
        **options: Options of `tagger.load`, such as `cuda_device`.

    Raises:
        ValueError: If a table has no `text_column`, or already has `column`.
    """

    def __init__(
        self,
        archive: str,
        text_column: str = "text",
        column: str = "prediction",
        **options: Any,
    ) -> None:
        # As in `predict-file`: saves memory when batches have many shapes.
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
        self._rows = RowInputs(load(archive, **options).predictor, "", skips_errors=True)
        self._text_column = text_column
        self._column = column

    def __call__(self, table: Any) -> Any:
        """Returns a `pyarrow.Table` with the given rows and columns and the predictions."""
        names = table.column_names
        if self._text_column not in names or self._column in names:
            raise ValueError(
                f"expected a table with a column `{self._text_column}` and without a column "
                f"`{self._column}`, got {', '.join(names)}; name others by `text_column` and `column`"
            )
        pa = import_pyarrow()
        field = pa.field(self._column, prediction_type())
        if table.num_rows == 0:
            return table.append_column(field, pa.array([], field.type))
        values = map(json.dumps, table.column(self._text_column).to_pylist())
        lines, _ = self._rows.predict([Line(n, value, "") for n, value in enumerate(values, 1)])
        return table.append_column(field, predictions_of_lines(lines))
