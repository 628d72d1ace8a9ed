import csv
import json
import os
import signal
import threading
import time
from unittest.mock import Mock

import pytest
from allennlp.common import Params

from tagger.common import files
from tagger.tools.runs import jobs as jobs_module
from tagger.tools.runs.jobs import Job, run_jobs, seeded_jobs
from tagger.tools.runs.results import (
    Column,
    Result,
    format_summary,
    read_results,
    read_table,
    tabulate,
    write_results as write,
)
from tagger.training.run_inputs import digests_of_inputs
from tests.conftest import CONFIGS


@pytest.fixture
def config(at_root):
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    config["trainer"]["num_epochs"] = 1
    return config


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_a_study_runs_every_job_once_and_keeps_on_after_a_failure(config, tmp_path, capfd):
    jobs = seeded_jobs({"variant": "plain"}, config, [1, 2])
    broken = Job({"variant": "broken", "seed": 1}, {**config, "model": {"type": "no such"}})
    assert run_jobs([broken, *jobs], tmp_path, num_workers=2) == [broken]
    assert "no such" in broken.log(tmp_path).read_text()
    results = read_results([broken, *jobs], tmp_path)
    assert [result.factors["seed"] for result in results] == [1, 2]
    assert results[0].metrics != results[1].metrics
    archives = [job.folder(tmp_path) / "model.tar.gz" for job in jobs]
    first = [archive.stat().st_mtime_ns for archive in archives]
    assert run_jobs(jobs, tmp_path, num_workers=2) == []
    assert [archive.stat().st_mtime_ns for archive in archives] == first
    assert "2 runs, of which 2 are finished" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_an_interrupted_run_is_restarted_with_the_same_result(config, tmp_path):
    (job,) = seeded_jobs({"variant": "plain"}, config, [1])
    half = job.folder(tmp_path / "a")
    half.mkdir(parents=True)
    (half / "metrics.json").write_text("{}")
    (half / "weights.th").write_text("half")
    for study in ("a", "b"):
        assert run_jobs([job], tmp_path / study, num_workers=1) == []
    (a,), (b,) = (read_results([job], tmp_path / study) for study in ("a", "b"))
    assert a.metrics["best_validation_loss"] == b.metrics["best_validation_loss"]
    assert not list(half.glob("*.th"))


def test_a_run_that_is_killed_while_it_is_marked_is_not_finished(tmp_path, monkeypatch):
    job = Job({"variant": "plain", "seed": 1}, {})
    job.folder(tmp_path).mkdir(parents=True)
    with monkeypatch.context() as context:
        context.setattr(files, "publish", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            jobs_module._mark_finished(job, tmp_path, {})
    assert not job.is_finished(tmp_path)
    jobs_module._mark_finished(job, tmp_path, {})
    assert job.is_finished(tmp_path)


def write_for_a_minute(config, folder):
    folder.mkdir(parents=True)
    with (folder / "out.log").open("w", buffering=1) as log:
        for _ in range(6000):
            print("still here", file=log)
            time.sleep(0.01)


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize(
    ("number", "stopped_by"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)]
)
def test_a_study_that_is_stopped_stops_its_runs(number, stopped_by, tmp_path):
    jobs = seeded_jobs({"variant": "long"}, {}, [1, 2])
    logs = [job.folder(tmp_path) / "out.log" for job in jobs]

    def stop():
        while not all(log.exists() for log in logs):
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(stopped_by):
        run_jobs(jobs, tmp_path, num_workers=2, work=write_for_a_minute)
    thread.join()
    sizes = [log.stat().st_size for log in logs]
    time.sleep(0.2)
    assert [log.stat().st_size for log in logs] == sizes


LABELS = ["PER", "..", ".", "...", "a/b", "a_b", "a%2Fb", "", "/etc", "Zoé.1", "a\\b", "\n"]


def test_every_label_has_a_separate_folder_within_the_study(tmp_path):
    jobs = [Job({"label": label, "seed": 1}, {}) for label in LABELS]
    folders = {job.folder(tmp_path).resolve() for job in jobs}
    assert len(folders) == len(LABELS)
    assert {folder.parents[1] for folder in folders} == {tmp_path.resolve() / "runs"}
    assert jobs[LABELS.index("Zoé.1")].folder(tmp_path) == tmp_path / "runs/Zoé.1/1"


def test_a_folder_with_runs_of_another_config_or_on_other_data_is_refused(tmp_path):
    for name in ("train.txt", "vectors/a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("before")
    paths = {"train_data_path": str(tmp_path / "train.txt"), "data_path": str(tmp_path / "vectors")}
    (job,) = seeded_jobs({"variant": "plain"}, {"reader": {"files": [paths]}}, [1])
    job.folder(tmp_path).mkdir(parents=True)
    (job.folder(tmp_path) / "job.json").write_text(json.dumps({"other": 1}))
    with pytest.raises(ValueError, match="variant plain, seed 1, with another config"):
        run_jobs([job], tmp_path, num_workers=1)
    (job.folder(tmp_path) / "job.json").unlink()
    jobs_module._mark_finished(job, tmp_path, digests_of_inputs(job.config))
    assert run_jobs([job], tmp_path, num_workers=1) == []
    for name in ("train.txt", "vectors/a.txt"):
        (tmp_path / name).write_text("after")
        with pytest.raises(ValueError, match=f"with other data: .*{name} has changed since"):
            run_jobs([job], tmp_path, num_workers=1)
        (tmp_path / name).write_text("before")


def result(variant, seed, **metrics):
    return Result({"variant": variant, "seed": seed}, metrics)


def test_the_summary_has_mean_and_standard_deviation_over_seeds():
    results = [
        result("CRF", 1, a=0.5, b=0.1),
        result("CRF", 2, a=0.7, b=0.3),
        result("softmax", 1, a=0.25, b=0.75),
    ]
    columns = [Column("A", ["a"]), Column("both", ["a", "b"])]
    assert format_summary(tabulate(results, columns)).splitlines() == [
        "| | A | both | runs |",
        "|---|---|---|---|",
        "| CRF | 60.0 ± 14.1 | 40.0 ± 14.1 | 2 |",
        "| softmax | 25.0 | 50.0 | 1 |",
    ]
    results.append(result("softmax", 2, a=0.25, b="0:01:02"))
    for name, known in (("c", "a, b"), ("b", "a")):
        wanted = f"metric '{name}', which is no number of the run .*; it has {known}"
        with pytest.raises(ValueError, match=wanted):
            tabulate(results, [Column("C", [name])])


@pytest.mark.parametrize(
    ("duration", "minutes"),
    [("0:01:30", "1.5"), ("1:00:06.000001", "60.1"), ("1 day, 0:30:00", "1470.0")],
)
def test_the_summary_has_the_minutes_of_runs_that_train(duration, minutes):
    columns = [Column("A", ["a"])]
    trained = [result("CRF", 1, a=0.5, training_duration=duration)]
    summary = format_summary(tabulate(trained, columns)).splitlines()
    assert summary[0] == "| | A | minutes | runs |"
    assert summary[2] == f"| CRF | 50.0 | {minutes} | 1 |"
    summary = format_summary(tabulate([*trained, result("evaluated", 1, a=0.5)], columns))
    assert summary.splitlines()[3] == "| evaluated | 50.0 | – | 1 |"


def test_results_are_written_one_line_a_run(tmp_path):
    path = tmp_path / "results.csv"
    write([result("a,b", 1, f1=0.5, duration="0:01"), result("c", 2, f1=0.25, epoch=3)], path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {"variant": "a,b", "seed": "1", "f1": "0.5", "epoch": ""},
        {"variant": "c", "seed": "2", "f1": "0.25", "epoch": "3"},
    ]


TEXTS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'s-Hertogenbosch", "'=1", "''", "''=1", "a,b\n"]


@pytest.mark.parametrize("name", TEXTS)
def test_a_name_is_not_a_formula_in_the_file_and_reads_back_unchanged(name, tmp_path):
    path = tmp_path / "results.csv"
    write([result(name, -1, f1=-0.5)], path)
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["variant"][0] not in "=+-@\t\r"
    assert (row["seed"], row["f1"]) == ("-1", "-0.5")
    assert read_table(path)[0]["variant"] == name
