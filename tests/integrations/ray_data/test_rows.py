import os

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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_data_runs_it_in_a_pool(table, expected, trained, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray", reason="needs Ray: pip install '.[ray]'")
    pytest.importorskip("ray.data", reason="needs Ray Data: pip install '.[ray]'")
    before = dict(os.environ)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    try:
        rows = ray.data.read_parquet(str(tmp_path / "in.parquet"))
        tagged = rows.map_batches(
            TaggerActor,
            fn_constructor_args=[str(trained / "model.tar.gz")],
            batch_size=4,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=1),
        )
        tagged.write_parquet(str(tmp_path / "tagged"))
    finally:
        ray.shutdown()
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
    assert pq.read_table(tmp_path / "tagged").sort_by("id") == expected
