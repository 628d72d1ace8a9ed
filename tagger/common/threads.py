"""Runs PyTorch calls concurrently. Within one call, each operation waits for its slowest thread."""

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List, Sequence, Tuple

import torch

#: The most batches computed concurrently on a CPU, given as many cores; each takes a few MB.
BATCHES_AT_ONCE = 8


def run_side_by_side(
    function: Callable[..., Any], calls: Sequence[Tuple[Any, ...]], num_workers: int
) -> List[Any]:
    """Calls a function with each tuple of arguments, without gradients; keeps the order."""
    # Threads do not inherit the caller's inference mode.
    is_inference = torch.is_inference_mode_enabled()

    def call(arguments: Tuple[Any, ...]) -> Any:
        with torch.inference_mode(is_inference), torch.no_grad():
            return function(*arguments)

    num_threads = torch.get_num_threads()
    num_workers = min(num_workers, num_threads, len(calls))
    if num_workers < 2:
        return [call(arguments) for arguments in calls]
    return list(_workers(os.getpid(), num_workers, num_threads).map(call, calls))


@functools.cache
def _workers(_process_id: int, num_workers: int, num_threads: int) -> ThreadPoolExecutor:
    """Returns this process's threads: a forked process does not have those of its parent."""
    # A forked process creates its autograd engine on first use, and crashes if two threads do so.
    with torch.inference_mode(False), torch.enable_grad():
        torch.ones(1, requires_grad=True).exp()
    workers = ThreadPoolExecutor(
        num_workers, "side_by_side", _limit_threads, (num_threads // num_workers,)
    )
    all_there = threading.Barrier(num_workers)
    list(workers.map(lambda _: all_there.wait(), range(num_workers)))
    # New threads start with whatever number a thread set last, so restore it.
    torch.set_num_threads(num_threads)
    return workers


def _limit_threads(num_threads: int) -> None:
    # The first call initialises the thread's number, which would undo an earlier setting.
    torch.get_num_threads()
    torch.set_num_threads(num_threads)
