"""`predict-file --ray` and Ray Data on a local cluster: output, recovery from failures, stores."""

import os
import signal
from functools import partial
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from allennlp.predictors import Predictor

from tagger.commands.predict_file import predict_file
from tagger.commands.prediction_outputs import RecordLayout
from tagger.commands.resumable_output import parts_in
from tagger.common.from_allennlp import ConfigurationError
from tagger.integrations.ray_data.predict_with_ray import WorkerPool, predict_with_ray
from tagger.integrations.ray_data.rows import TaggerActor
from tagger.predictors.sequence_tagger import SequenceTaggerPredictor
from tests.integrations.ray_data.test_rows import TEXTS

pytestmark = pytest.mark.system

#: A single worker, because each takes seconds to start.
POOL = partial(predict_with_ray, WorkerPool(1, 1))


class Traced(SequenceTaggerPredictor):
    """Records its predictions in a file, and kills its process at the first `killer`."""

    def predict_batch_json(self, inputs):
        with open(self.trace, "a") as trace:
            trace.writelines(f"{each.get('sentence')!r}\n" for each in inputs)
        dead = Path(f"{self.trace}.dead")
        if any("killer" in str(each) for each in inputs) and not dead.exists():
            dead.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict_batch_json(inputs)


@pytest.fixture(scope="module")
def ray(s3):
    """A local cluster with access to our S3 server."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install '.[ray]'")
    before = dict(os.environ)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    yield ray
    ray.shutdown()
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


@pytest.fixture
def predictor(archive, tmp_path):
    predictor = Predictor.from_archive(archive)
    predictor.__class__ = Traced
    predictor.trace = str(tmp_path / "trace")
    return predictor


@pytest.mark.filterwarnings("ignore")
def test_after_crashes_and_errors_the_bytes_equal_those_of_predict_file(
    ray, predictor, tmp_path, monkeypatch
):
    # Another folder than that of the workers.
    monkeypatch.chdir(tmp_path)
    lines = [f"line {n} of {'Ada ' * (n % 5)}".encode() for n in range(150)]
    lines[145], lines[8] = b"no \xff text", "Zoë met Łukasz\u2028in Kraków".encode()
    lines[20], lines[60], lines[140] = b"", b"the killer", b'{"tokens": 3}'
    text, output, expected = map(Path, ("in.txt", "out.jsonl", "all.jsonl"))
    text.write_bytes(b"\r\n".join(lines[:80]) + b"\r\r" + b"\n".join(lines[80:]))
    # Either line may fail first.
    message = r"in.txt:(142|147): .*; add --on-error skip, and repeat"
    with pytest.raises(ConfigurationError, match=message):
        predict_file(predictor, str(text), output, window=4, runner=POOL)
    assert Path(f"{predictor.trace}.dead").exists()
    parts = parts_in(f"{output}.unfinished")
    written = [4 * part.window + row for part in parts for row in range(part.num_lines)]
    assert len(written) >= 32
    message = r"another `window`; .* --force to discard its \d+ pred"
    with pytest.raises(ConfigurationError, match=message):
        predict_file(predictor, str(text), output, window=5, runner=POOL)
    Path(predictor.trace).unlink()
    two = partial(predict_with_ray, WorkerPool(2, 2))
    predict_file(predictor, str(text), output, window=4, on_error="skip", runner=two)
    traced = Path(predictor.trace).read_text().splitlines()
    # There is an empty line between the two carriage returns.
    lines.insert(80, b"")
    again = {lines[row].decode() for row in written} & {eval(each) for each in traced}
    assert again <= {""}
    predict_file(predictor, str(text), expected, window=4, on_error="skip")
    assert output.read_bytes() == expected.read_bytes()
    assert {path.name for path in tmp_path.glob("*.*")} >= {"in.txt", "out.jsonl", "all.jsonl"}
    assert not list(tmp_path.glob("*.unfinished")) + list(tmp_path.glob("*.lock"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("where", ["here", "s3"])
def test_folders_are_predicted_to_a_folder(where, ray, s3, predictor, tmp_path):
    base = {"here": str(tmp_path / "store"), "s3": s3}[where]
    store, root = fsspec.url_to_fs(base)
    store.makedirs(f"{root}/in", exist_ok=True)
    texts = [f"Ada met {n} in Lisbon ." for n in range(40)]
    texts[30] = ")" * 501
    table = pa.table({"line": range(40), "body": texts})
    for number in range(2):
        with fsspec.open(f"{base}/in/{number}.parquet", "wb") as file:
            pq.write_table(table[20 * number : 20 * number + 20], file, row_group_size=7)
    layout = RecordLayout("body", "found")
    predict_file(
        predictor, f"{base}/in/", f"{base}/out/", 8, on_error="skip", layout=layout, runner=POOL
    )
    store.invalidate_cache()
    assert store.exists(f"{root}/out/_SUCCESS")
    names = [each.rpartition("/")[2] for each in store.ls(root, detail=False)]
    assert [each for each in names if "out" in each] == ["out"]
    found = pq.read_table(f"{root}/out", filesystem=store).sort_by("input_row")
    assert found["input_row"].to_pylist() == [n // 20 << 40 | 1 + n % 20 for n in range(40)]
    pq.write_table(table, tmp_path / "in.parquet")
    target = tmp_path / "out.parquet"
    layout = layout._replace(nested=True)
    predict_file(predictor, str(tmp_path / "in.parquet"), target, on_error="skip", layout=layout)
    expected = pq.read_table(target).to_pylist()
    expected[30]["found"]["error"] = found["found"].to_pylist()[30]["error"]
    assert found.drop_columns("input_row").to_pylist() == expected
    with pytest.raises(ConfigurationError, match="out/ holds files; name another folder"):
        predict_file(predictor, f"{base}/in/", f"{base}/out/", layout=layout, runner=POOL)


@pytest.mark.filterwarnings("ignore")
def test_ray_data_runs_it_in_a_pool(ray, trained, tmp_path):
    table = pa.table({"id": range(len(TEXTS)), "text": TEXTS})
    pq.write_table(table, tmp_path / "in.parquet")
    archive = str(trained / "model.tar.gz")
    tagged = ray.data.read_parquet(str(tmp_path / "in.parquet")).map_batches(
        TaggerActor,
        fn_constructor_args=[archive],
        batch_size=4,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=1),
    )
    tagged.write_parquet(str(tmp_path / "tagged"))
    assert pq.read_table(tmp_path / "tagged").sort_by("id") == TaggerActor(archive)(table)
