"""`predict-file --ray`: its inputs and its errors; `tests/system/test_ray.py` predicts with Ray."""

import json
import os
from functools import partial
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from allennlp.predictors import Predictor

from tagger.commands.predict_file import predict_file
from tagger.commands.prediction_inputs import files_of
from tagger.common.from_allennlp import ConfigurationError
from tagger.common.lock import output_lock
from tagger.integrations.ray_data import predict_with_ray as predict_with_ray_module
from tagger.integrations.ray_data.predict_with_ray import WorkerPool, predict_with_ray

#: A single worker, because each takes seconds to start.
POOL = partial(predict_with_ray, WorkerPool(1, 1))


@pytest.fixture
def predictor(archive):
    return Predictor.from_archive(archive)


@pytest.fixture
def run_here(monkeypatch):
    """Predicts without Ray, in this process, and stops after a number of windows, like a killed run."""

    def run_here(most):
        def run(reading, num_files, _, task):
            worker = object.__new__(predict_with_ray_module._Worker)
            worker._inputs, worker._files, worker._folder, worker._column = task
            windows = (each for n in range(num_files) for each in reading(pa.table({"file": [n]})))
            for number, window in enumerate(windows):
                if number == most:
                    raise KeyboardInterrupt
                worker(window)

        monkeypatch.setattr(predict_with_ray_module, "_run", run)

    return run_here


#: Folders of two files, with the options that read them.
FOLDERS = {
    "rows of texts": ((".csv", "id,text\n1,Ada left\n", "text,id\nOslo is,2\n"), []),
    "rows": ((".csv", "id,body\n1,Ada left\n", "body,id\nOslo is,2\n"), ["--text-column", "body"]),
    "records": (
        (".jsonl", '{"text": "Ada left", "id": 1}\n', '{"text": "Oslo is", "id": 2}\n'),
        [],
    ),
    "lines": ((".txt", "Ada left\n", "Oslo is\n"), []),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_any_files_is_predicted(name, allennlp, good, run_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (suffix, *contents), options = FOLDERS[name]
    Path("in").mkdir()
    for number, content in enumerate(contents):
        Path(f"in/{number}{suffix}").write_text(content)
    run_here(None)
    allennlp("predict-file", good, "in", "-o", "out/", "--ray", *options)
    rows = pq.read_table("out").sort_by("input_row").to_pylist()
    assert [each["prediction"]["text"] for each in rows] == ["Ada left", "Oslo is"]


@pytest.mark.parametrize(
    ("output", "before", "after", "message"),
    [
        ("out.jsonl", "", "--text-column note", "another `text-column`"),
        ("out/", "", "--column found", "another `column`"),
        ("out.jsonl", "--keep id", "", "another `keep`"),
        ("out.jsonl", "--on-error skip", "", "begun by a run that skipped 1 lines; add --on-error"),
    ],
)
def test_a_killed_run_is_not_completed_with_other_options(
    output, before, after, message, allennlp, good, run_here, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    long = ")" * 501
    Path("in.csv").write_text(f"id,body,note\n1,{long},Bo\n2,Oslo is,Cy\n")
    read = ["in.csv", "--text-column", "body"]
    if "skip" not in before:
        Path("in.csv").write_text("id,body,note\n1,Ada left,Bo\n2,Oslo is,Cy\n")
    command = ["predict-file", good, *read, "-o", output, "--ray", "--window", "1"]
    run_here(1)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        allennlp(*command, *before.split())
    run_here(None)
    with pytest.raises(SystemExit, match=message):
        allennlp(*command, *after.split())
    assert not Path("out.jsonl").exists()


def test_pool_sizes_are_parsed_and_checked():
    assert WorkerPool.of_range("2", 1, 0) == WorkerPool(2, 2)
    assert WorkerPool.of_range("2:", 1, 0) == WorkerPool(2, None)
    assert WorkerPool.of_range("2:10", 1, 0) == WorkerPool(2, 10)
    for wrong in ("0", "3:2", "a", ":4", ""):
        with pytest.raises(ConfigurationError, match="`--workers` must be a number or a range"):
            WorkerPool.of_range(wrong, 1, 0)


def test_a_start_of_ray_that_times_out_is_named(monkeypatch):
    import ray

    def init(*address, **options):
        if address:
            raise ConnectionError("none is running")
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ConfigurationError, match="Ray did not start .* repeat the command"):
        predict_with_ray_module._connect(WorkerPool(1, 1))


def test_files_of_folders_and_patterns_are_listed_in_order(tmp_path):
    for name in ("b.txt", "a.txt", ".hidden", "_SUCCESS", "c.gz"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    assert [Path(each).name for each in files_of(str(tmp_path))] == ["a.txt", "b.txt", "c.gz"]
    assert [Path(each).name for each in files_of(f"{tmp_path}/*.txt")] == ["a.txt", "b.txt"]
    assert files_of(str(tmp_path / "none")) == [str(tmp_path / "none")]
    with pytest.raises(ConfigurationError, match="folder has no files; give a folder or files"):
        files_of(str(tmp_path / "folder"))


@pytest.mark.parametrize("where", ["here", "memory", "s3"])
def test_only_one_process_across_machines_writes_an_output(where, s3, tmp_path):
    folder = {"here": str(tmp_path), "memory": "memory://locks", "s3": f"{s3}/locks"}[where]
    output = f"{folder}/out/"
    store, lock = fsspec.url_to_fs(f"{folder}/out.lock")
    with output_lock(output):
        message = f"written by process {os.getpid()} on .*; wait"
        with pytest.raises(ConfigurationError, match=message), output_lock(output):
            pass
        holder = json.loads(store.cat_file(lock))
    assert not store.exists(lock)
    # Locks of a dead process on this machine, then on another.
    store.pipe_file(lock, json.dumps({**holder, "process": 1}).encode())
    with output_lock(output):
        pass
    store.pipe_file(lock, json.dumps({**holder, "host": "another"}).encode())
    message = "on another since .*has ended, delete .*out.lock"
    with pytest.raises(ConfigurationError, match=message), output_lock(output):
        pass


@pytest.mark.parametrize(
    ("name", "output", "message"),
    [
        ("texts/", "out.jsonl", "predictions of 2 files; name a folder, with a sl"),
        ("a.parquet", "out/", "has a column `input_row`, which the output needs"),
    ],
)
def test_an_unsuitable_output_is_refused(name, output, message, predictor, tmp_path):
    (tmp_path / "texts").mkdir()
    for text in ("a.txt", "b.txt"):
        (tmp_path / "texts" / text).write_text("Ada\n")
    pq.write_table(pa.table({"text": ["Ada"], "input_row": [1]}), tmp_path / "a.parquet")
    with pytest.raises(ConfigurationError, match=message):
        predict_file(predictor, f"{tmp_path}/{name}", f"{tmp_path}/{output}", runner=POOL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--ray --use-dataset-reader", "`--ray` needs input lines; it does not work with --use"),
        ("--ray --workers two", "`--workers` must be a number or a range .*; got two"),
        ("--workers 2", "`--workers` has an effect only with `--ray`; add `--ray`"),
        ("--gpus 0", "`--gpus` has an effect only with `--ray`"),
        (
            "--ray --format prodigy -o out/",
            "`--output` out/ would be Parquet with predictions; for",
        ),
        ("--ray --keep id -o out/", "`--keep` is for JSON lines, and `--output` out/ is Parquet"),
    ],
)
def test_the_command_refuses_options_that_ray_does_not_support(
    options, message, allennlp, good, tmp_path
):
    (tmp_path / "in.jsonl").write_text('{"sentence": "Ada", "id": 1}\n')
    files = [good, tmp_path / "in.jsonl", "-o", tmp_path / "out"]
    with pytest.raises(SystemExit, match=message):
        allennlp("predict-file", *files, *options.split())
