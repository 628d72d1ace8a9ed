"""Runs the jobs of a study in parallel and resumes an interrupted study."""

import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from contextlib import closing
from multiprocessing.connection import wait
from pathlib import Path
from typing import (
    Any,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
    cast,
)

from tagger.common.console import say
from tagger.common.files import write_atomically
from tagger.tools.runs.work import Work, train
from tagger.training.run_folder import take_folder
from tagger.training.run_inputs import differences, digests_of_inputs

#: The job's config and the digests of its files. Written last, so it marks a finished run.
JOB_FILE = "job.json"
METRICS_FILE = "metrics.json"

#: Waiting threads must not spin, because other jobs need the cores.
ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


class Job(NamedTuple):
    """One run of a study."""

    factors: Mapping[str, Any]
    config: Mapping[str, Any]

    def folder(self, study: Path) -> Path:
        """Returns the job's folder, with one level per factor."""
        return study.joinpath("runs", *(_as_file_name(value) for value in self.factors.values()))

    def log(self, study: Path) -> Path:
        """Returns the file for the run's output, next to the folder, because training needs it empty."""
        folder = self.folder(study)
        return folder.with_name(f"{folder.name}.log.txt")

    def is_finished(self, study: Path) -> bool:
        """Whether the run has finished."""
        return (self.folder(study) / JOB_FILE).exists()


def seeded_jobs(
    factors: Mapping[str, Any], config: Mapping[str, Any], seeds: Iterable[int]
) -> List[Job]:
    """Returns one job per seed; the seed is the last factor."""
    return [
        Job(
            {**factors, "seed": seed},
            {**config, "random_seed": seed, "numpy_seed": seed, "pytorch_seed": seed},
        )
        for seed in seeds
    ]


def default_num_workers(config: Mapping[str, Any]) -> int:
    """Returns the number of cores, or 1 if the config trains on a GPU."""
    import torch

    device = config.get("trainer", {}).get("cuda_device")
    if torch.cuda.is_available() and device != -1:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(jobs: Sequence[Job], study: Path, num_workers: int, work: Work = train) -> List[Job]:
    """Runs all unfinished jobs, each in a process with one thread, and returns those that failed.

    An interrupted job starts over, so its result only depends on its seed. Raises an error if there
    is a run of the same name with another config or other data.
    """
    take_folder(study, "-s")
    for job in jobs:
        _check_unchanged(job, study)
    todo = [job for job in jobs if not job.is_finished(study)]
    say(f"{len(jobs)} runs, of which {len(jobs) - len(todo)} are finished; {study}", flush=True)
    start = time.monotonic()
    before = signal.signal(
        signal.SIGTERM, lambda *_: sys.exit("terminated; repeat the command to go on")
    )
    try:
        with closing(run_lazily(iter(todo), study, num_workers, work)) as ended:
            for num_done, job in enumerate(ended, start=1):
                remaining = (time.monotonic() - start) / num_done * (len(todo) - num_done)
                say(
                    f"[{num_done}/{len(todo)}] {describe(job)}: "
                    f"{'done' if job.is_finished(study) else f'FAILED, see {job.log(study)}'}; "
                    f"about {remaining / 60:.0f} min left",
                    flush=True,
                )
    finally:
        signal.signal(signal.SIGTERM, before)
    return [job for job in todo if not job.is_finished(study)]


def run_lazily(
    jobs: Iterator[Job], study: Path, num_workers: int, work: Work
) -> Generator[Job, None, None]:
    """Runs each job in a process with one thread, and yields it when the process has ended.

    A job is only taken from `jobs` when one of the workers is free.
    """
    os.environ.update(ENVIRONMENT)
    # The server imports everything once and forks a process for each job.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tagger", "allennlp.commands"])
    running: Dict[int, Tuple[Any, Job]] = {}
    try:
        while True:
            while len(running) < num_workers and (job := next(jobs, None)):
                process = context.Process(target=_run, args=(job, study, work))
                process.start()
                running[process.sentinel] = process, job
            if not running:
                return
            for sentinel in wait(list(running)):
                process, job = running.pop(cast(int, sentinel))
                process.join()
                yield job
    finally:
        # Jobs of a stopped study must not keep writing when it is started again.
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join()


def describe(job: Job) -> str:
    """Formats the job's factors as text."""
    return ", ".join(f"{name} {value}" for name, value in job.factors.items())


def _run(job: Job, study: Path, work: Work) -> None:
    """Runs a job in the current process, with its output in the job's log."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder = job.folder(study)
    # An existing folder is left over from an interrupted attempt.
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with job.log(study).open("w") as log:
        os.dup2(log.fileno(), sys.stdout.fileno())
        os.dup2(log.fileno(), sys.stderr.fileno())
        # So that a file that changes during the job is noticed when the study is started again.
        digests = digests_of_inputs(job.config)
        work(job.config, folder)
    _mark_finished(job, study, digests)


def _end_with_parent() -> None:
    # Otherwise, the job of a killed study keeps writing when the study is started again.
    wait([cast(Any, multiprocessing.parent_process()).sentinel])
    os._exit(1)


def _mark_finished(job: Job, study: Path, digests: Mapping[str, str]) -> None:
    with write_atomically(job.folder(study) / JOB_FILE) as path:
        mark = {"config": job.config, "files": digests}
        path.write_text(json.dumps(mark, indent=2, sort_keys=True))


def finished(jobs: Iterable[Job], study: Path) -> List[Job]:
    """Returns the jobs that have finished with their configs and data."""
    return [job for job in jobs if job.is_finished(study) and not _change(job, study)]


def _check_unchanged(job: Job, study: Path) -> None:
    reason = _change(job, study) if job.is_finished(study) else ""
    if reason:
        path = job.folder(study) / JOB_FILE
        raise ValueError(
            f"{path} belongs to a run of the same name, {describe(job)}, with {reason}; choose another "
            f"folder for the study, or delete {path.parent}"
        )


def _change(job: Job, study: Path) -> str:
    """Says how a finished run differs from its job; nothing if it does not."""
    mark = json.loads((job.folder(study) / JOB_FILE).read_text())
    digests = digests_of_inputs(job.config)
    if mark.get("config") != json.loads(json.dumps(job.config)):
        return "another config"
    if mark["files"] != digests:
        return f"other data: {differences(mark['files'], digests)}"
    return ""


def _as_file_name(value: Any) -> str:
    """Returns a file name, different for different values, that is never a path or a parent folder."""
    text = str(value)
    safe = "._-" if text.strip(".") else ""
    return "".join(c if c.isalnum() or c in safe else f"%{ord(c):02X}" for c in text) or "%"
