"""Checks and measures everything on a GPU, part by part, and writes a report.

Run: scripts/check_gpu.sh [PART ...] [--again] [--output FOLDER] [--device cuda] [--sizes tiny]

Without PART, all parts run, each in its own process, which is stopped if it takes too long. `crf`
stands for all parts with names that begin with it. `first` and `second` are the two halves of a check
on a machine that is only available for minutes; they take an estimated seven and four minutes. The
results of each part are saved as FOLDER/PART.json (FOLDER is $OUT, or `gpu`). Finished parts are
skipped unless `--again` is given. Each call rewrites FOLDER/report.md and FOLDER/report.json from all
results. Corpora are expected in `data`; parts without their corpus report that it is missing.
`--device cpu --sizes tiny` only shows that the parts run, and measures nothing.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

from scripts.experiments.gpu_check import crf, report, training
from scripts.experiments.gpu_check.measuring import SIZES, Options, Results, SkippedError
from tagger.common.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
#: The tests that need a GPU; other tests need packages that such a machine may lack.
GPU_TESTS = (
    "tests/linear_chain",
    "tests/models/test_sequence_tagger.py",
    "tests/modules/test_lstm.py",
    "tests/tools/tuning/test_on_a_gpu.py",
)
SECONDS_OF_TESTS = 150


def gpu_tests(options: Options) -> Results:
    """Runs the tests that need a GPU, and after `SECONDS_OF_TESTS` reports those finished by then."""
    command = [sys.executable, "-m", "pytest", "-vv", "-m", "gpu", "-rs", "-p", "no:cacheprovider"]
    # The plugin's warnings under xdist (as in PYTEST_ADDOPTS="-n 8") would be errors.
    command += ["-p", "no:benchmark"]
    # Excluded, because it needs hypothesis and no GPU.
    command.append("--ignore=tests/linear_chain/test_fuzz.py")
    command += GPU_TESTS[-1:] if options.is_tiny else GPU_TESTS
    lines = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as tests:
        timer = threading.Timer(SECONDS_OF_TESTS, tests.kill)
        timer.start()
        for line in tests.stdout or ():
            # In the log, even if the part is stopped.
            print(line, end="", flush=True)
            lines.append(line)
        is_whole = timer.is_alive()
        timer.cancel()
    code, output = tests.returncode if is_whole else None, "".join(lines)
    words = re.findall(r" (PASSED|FAILED|ERROR|SKIPPED)\b", output)
    # 5: no test was collected
    if code not in (0, 5, None) or {"FAILED", "ERROR"} & {*words}:
        raise RuntimeError(f"the tests failed:\n{output[-12_000:]}")
    counts = {word.lower(): words.count(word) for word in dict.fromkeys(words)}
    return {"counts": counts, "whole": code is not None}


#: The parts in the order in which they run, with the seconds after which each is stopped.
PARTS: Dict[str, Callable[[Options], Results]] = {
    "tests": gpu_tests,
    "kernels": crf.kernels,
    **{f"crf-{shape}": partial(crf.at_shape, shape) for shape in SIZES},
    "memory": crf.memory,
    "tagger": training.tagger,
    "finetuning": training.finetuning,
    "precision": training.precision,
    "weightings": crf.weightings,
    "prediction": training.prediction,
    "processes": crf.processes,
    "training": training.training,
    "reuters": training.reuters,
}
LIMITS = {"tests": 170, "kernels": 170, "tagger": 400, "training": 300, "reuters": 300}
SECONDS_OF_A_PART = 90
HALVES = {
    "first": ("tests", "kernels", "crf-small", "crf-medium", "crf-large", "memory", "tagger"),
    "second": (
        *("finetuning", "precision", "crf-long", "weightings", "prediction", "processes"),
        "reuters",
    ),
}


def selected(names: Sequence[str]) -> List[str]:
    """Returns the parts that the names stand for, in the order of `PARTS`; without names, all parts."""
    names = [part for name in names for part in HALVES.get(name, (name,))]
    for name in names:
        if not any(_stands_for(name, part) for part in PARTS):
            raise argparse.ArgumentTypeError(
                f"PART must be first, second, one of {', '.join(PARTS)}, or `crf`; got `{name}`"
            )
    return [part for part in PARTS if not names or any(_stands_for(n, part) for n in names)]


def _stands_for(name: str, part: str) -> bool:
    return part == name or part.startswith(f"{name}-")


def environment(device: str) -> Dict[str, Any]:
    """Returns the versions and the GPU that a part runs on."""
    versions = {
        package: metadata.version(package) if importlib.util.find_spec(package) else None
        for package in ("torch", "triton", "transformers", "numpy")
    }
    name = "CPU" if device == "cpu" else torch.cuda.get_device_name(device)
    return {"device": name, "python": platform.python_version(), **versions}


def run_part(name: str, options: Options) -> Dict[str, Any]:
    """Runs a part in this process and returns the data to save."""
    started = time.time()
    kept: Dict[str, Any] = {
        "part": name,
        "options": options._asdict(),
        "environment": environment(options.device),
    }
    try:
        kept.update(status="done", results=PARTS[name](options))
    except SkippedError as reason:
        kept.update(status="skipped", reason=str(reason))
    except Exception:
        kept.update(status="failed", reason=traceback.format_exc()[-4000:])
    return {**kept, "seconds": time.time() - started}


def run_in_process(name: str, folder: Path, arguments: Sequence[str], limit: float) -> None:
    """Runs a part in a separate process and writes the part's file, even if it has to be stopped."""
    path = folder / f"{name}.json"
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "scripts.experiments.check_gpu", name, "--worker", *arguments]
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    # Measures the kernels even if an automatic check would disable them.
    variables["TAGGER_KERNELS"] = "triton"
    if "cpu" in arguments:
        variables.setdefault("TRITON_INTERPRET", "1")
    reason = f"stopped after {limit:.0f} seconds"
    with (folder / f"{name}.log").open("w") as log:
        streams: Dict[str, Any] = {"stdout": log, "stderr": subprocess.STDOUT}
        worker = subprocess.Popen(command, env=variables, start_new_session=True, **streams)
        try:
            reason = f"ended with code {worker.wait(limit)}; see {log.name}"
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Also kills processes that the part has started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
    if not path.exists():
        write(path, {"part": name, "status": "failed", "reason": reason})


def write(path: Path, kept: Dict[str, Any]) -> None:
    """Writes a file of results atomically."""
    with write_atomically(path, overwrite=True) as new:
        new.write_text(json.dumps(kept, indent=1))


def is_done(path: Path, options: Options) -> bool:
    """Whether a part has results with these options; failed or skipped parts do not."""
    if not path.exists():
        return False
    kept = json.loads(path.read_text())
    return kept["status"] == "done" and kept["options"] == options._asdict()


def write_report(folder: Path) -> List[str]:
    """Writes the report on all parts with a file; returns the goals that were missed."""
    paths = [folder / f"{name}.json" for name in PARTS]
    kept = {path.stem: json.loads(path.read_text()) for path in paths if path.exists()}
    goals = report.judged(kept)
    write(folder / "report.json", {"parts": kept, "goals": [goal._asdict() for goal in goals]})
    (folder / "report.md").write_text(report.markdown(kept, goals))
    return [goal.name for goal in goals if goal.is_met is False]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the remaining parts and writes the report; returns 1 if a part failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all"
    )
    parser.add_argument("--again", action="store_true", help="run finished parts again")
    parser.add_argument("--output", type=Path, default=Path(os.environ.get("OUT", "gpu")))
    parser.add_argument("--device", default="cuda", help="the device, as named by torch")
    parser.add_argument("--sizes", choices=("full", "tiny"), default="full")
    parser.add_argument("--limit", type=float, help="seconds per part, instead of the usual limits")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    try:
        names = selected(given.parts)
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    if given.device != "cpu" and not torch.cuda.is_available():
        sys.exit(
            f"check_gpu: PyTorch {torch.__version__} finds no CUDA device; install a CUDA build of "
            f"torch on a machine with a GPU, or try the program with `--device cpu --sizes tiny`"
        )
    given.output.mkdir(parents=True, exist_ok=True)
    options = Options(given.device, given.sizes == "tiny")
    if given.worker:
        write(given.output / f"{names[0]}.json", run_part(names[0], options))
        return 0
    passed_on = ["--output", str(given.output), "--device", given.device, "--sizes", given.sizes]
    has_failed = False
    for name in names:
        path = given.output / f"{name}.json"
        if given.again or not is_done(path, options):
            print(f"{name} ...", end=" ", flush=True)
            limit = given.limit or LIMITS.get(name, SECONDS_OF_A_PART)
            run_in_process(name, given.output, passed_on, limit)
            # After each part, so that even an interrupted check has a report.
            write_report(given.output)
            kept = json.loads(path.read_text())
            has_failed |= kept["status"] == "failed"
            print(kept["status"], kept.get("reason", "").strip().rpartition("\n")[2], flush=True)
        else:
            print(f"{name} is done; --again runs it again")
    for goal in write_report(given.output):
        print(f"fell short: {goal}")
    print(f"wrote {given.output}/report.md and report.json")
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
