"""What figures were measured on: the processor, its cores, the commit, and how busy it is."""

import datetime
import os
import platform
import re
import subprocess
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def machine() -> str:
    """Returns the processor, the versions, the commit and the date in one line."""
    cores = f"{num_cores()} cores" if num_cores() > 1 else "1 core"
    return (
        f"{processor()}, {cores}; Python {platform.python_version()}, torch "
        f"{metadata.version('torch')}; commit {_commit()}, {datetime.date.today()}"
    )


def num_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Returns the processor's name."""
    path = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", path.read_text() if path.exists() else "")
    return found[1].strip() if found else platform.processor() or platform.machine()


def load_of_others(seconds: float = 1.0) -> float:
    """Returns the cores that are busy while this process sleeps; 0 where /proc/stat is missing."""
    before, started = busy_seconds(), time.perf_counter()
    time.sleep(seconds)
    return (busy_seconds() - before) / (time.perf_counter() - started)


def busy_seconds() -> float:
    """Returns the processor seconds of all processes since the start of the machine."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0
    # user nice system idle iowait irq softirq
    ticks = sum(int(fields[index]) for index in (0, 1, 2, 5, 6))
    return ticks / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Returns the processor seconds of this process and of its finished children."""
    times = os.times()
    return sum(times[:4])


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], check=False, cwd=ROOT, capture_output=True, text=True
        )
        return done.stdout.strip()

    try:
        name = git("rev-parse", "--short", "HEAD")
    except OSError:
        name = ""
    changed = " with changes" if name and git("status", "--porcelain", "-uno") else ""
    return (name or "unknown") + changed
