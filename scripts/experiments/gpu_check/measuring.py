"""What all parts of the GPU check share: options, missing prerequisites and timing."""

import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Tuple

import torch

SIZES = {
    "small": (32, 128, 9),
    "medium": (128, 512, 33),
    "large": (4096, 512, 33),
    "long": (1, 10_000, 9),
}
TINY_SIZES = {"small": (3, 6, 3), "medium": (2, 5, 4), "large": (4, 5, 3), "long": (1, 20, 3)}
Results = Dict[str, Any]


class SkippedError(Exception):
    """A part cannot be measured here; the message says why."""


class Options(NamedTuple):
    """The options for measuring."""

    device: str = "cuda"
    is_tiny: bool = False
    seconds: float = 3.0

    def size(self, name: str) -> Tuple[int, int, int]:
        """Returns the batch size, the number of tokens and the number of tags of a shape."""
        return (TINY_SIZES if self.is_tiny else SIZES)[name]

    @property
    def cuda_device(self) -> int:
        """The device number in AllenNLP's convention."""
        return -1 if self.device == "cpu" else torch.device(self.device).index or 0


def seconds_of(options: Options, run: Callable[[], Any]) -> Results:
    """Times a call repeatedly; returns the median, the minimum and the number of calls."""

    def once() -> float:
        synchronize(options)
        started = time.perf_counter()
        run()
        synchronize(options)
        return time.perf_counter() - started

    first = once()
    if first > 10 * options.seconds:  # so long that compilation does not matter
        return {"median": first, "least": first, "times": 1}
    number = 2 if options.is_tiny else int(min(max(options.seconds / max(first, 1e-4), 3), 50))
    own = [once() for _ in range(number)]
    return {"median": statistics.median(own), "least": min(own), "times": number}


def profile_of(options: Options, run: Callable[[], Any]) -> str:
    """Returns a profile of one call on the device as a table; empty on a CPU."""
    if options.device == "cpu":
        return ""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        run()
        synchronize(options)
    by_shape = profiler.key_averages(group_by_input_shape=True)
    return str(by_shape.table(sort_by="self_cuda_time_total", row_limit=15))


def needed(path: Path, remedy: str) -> Path:
    """Returns a path if it exists; otherwise the part is skipped."""
    if not path.exists():
        raise SkippedError(f"{path} is missing: {remedy}")
    return path


def synchronize(options: Options) -> None:
    """Waits until the device has finished all its work."""
    if options.device != "cpu":
        torch.cuda.synchronize()
