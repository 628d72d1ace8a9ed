import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from allennlp.predictors import Predictor

from tagger.commands.predict_file import predict_file
from tagger.commands.prediction_outputs import RecordLayout
from tagger.integrations.ray_data.rows import TaggerActor

TEXTS = ["Maria met Paulo in Lisbon .", "", ")" * 501, "Ada " * 300, None, "Ada left ."]


@pytest.fixture
def table():
    return pa.table({"id": range(len(TEXTS)), "text": TEXTS})


@pytest.fixture
def expected(table, archive, tmp_path):
    """The output of `predict-file` for the table."""
    pq.write_table(table, tmp_path / "in.parquet")
    predictor = Predictor.from_archive(archive)
    out = str(tmp_path / "out.parquet")
    predict_file(
        predictor,
        str(tmp_path / "in.parquet"),
        out,
        on_error="skip",
        layout=RecordLayout(nested=True),
    )
    return pq.read_table(out)


def test_rows_get_the_output_of_predict_file_and_bad_rows_an_error(table, expected, trained):
    found = TaggerActor(str(trained / "model.tar.gz"))(table)
    assert found == expected
    errors = [each["error"] is not None for each in found["prediction"].to_pylist()]
    assert errors == [False, False, True, False, True, False]


def test_tokens_and_empty_tables_are_accepted_and_columns_are_checked(trained):
    actor = TaggerActor(str(trained / "model.tar.gz"), "words", "found")
    table = pa.table({"words": [["Ada", "left"]]})
    assert actor(table)["found"].to_pylist()[0]["tokens"] == ["Ada", "left"]
    assert actor(table[:0]).schema == actor(table).schema
    with pytest.raises(ValueError, match="expected a table with a column `words` .* got text"):
        actor(pa.table({"text": ["Ada"]}))
    with pytest.raises(ValueError, match="and without a column `found`"):
        actor(actor(table))
