import os
from pathlib import Path

import pytest
from allennlp.predictors import Predictor

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'allennlp-tagger[ray]'")
pytest.importorskip("ray.data")

from examples.predict_with_ray import Worker, predict  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    # Of Ray and what it brings, as its processes start and end.
    pytest.mark.filterwarnings("ignore"),
]


class KilledOnce(Worker):
    """Dies in the window of line 20, unless another has done so before."""

    def __call__(self, window):
        trace = Path(os.environ["TRACE"])
        if "line 20" in window["text"] and not trace.exists():
            trace.touch()
            os._exit(1)
        return super().__call__(window)


def test_the_window_of_a_killed_worker_is_predicted_again_in_its_place(
    trained, archive, tmp_path, monkeypatch
):
    trace, texts, output = (tmp_path / name for name in ("trace", "texts.txt", "predictions.jsonl"))
    monkeypatch.setenv("TRACE", str(trace))
    lines = [f"line {number}" for number in range(48)]
    texts.write_text("\n".join(lines))
    ray.init(num_cpus=3, include_dashboard=False)
    try:
        archive_file = str(trained / "model.tar.gz")
        predict(archive_file, str(texts), str(output), window=8, worker=KilledOnce)
    finally:
        ray.shutdown()
    assert trace.exists()
    predictor = Predictor.from_archive(archive)
    expected = []
    for start in range(0, 48, 8):
        window = [predictor.load_line(line) for line in lines[start : start + 8]]
        expected += map(predictor.dump_line, predictor.predict_batch_json(window))
    assert output.read_text().splitlines(keepends=True) == expected
