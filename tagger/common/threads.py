"""Runs calls of PyTorch at the same time, which waits for the slowest thread after each operation."""

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List, Sequence, Tuple

import torch

#: How many batches are computed at the same time on a CPU with as many cores; each takes a few MB.
BATCHES_AT_ONCE = 8


def run_side_by_side(
    function: Callable[..., Any], calls: Sequence[Tuple[Any, ...]], num_workers: int
) -> List[Any]:
    """Calls a function with each tuple of arguments, without gradients; returns results in order."""
    # A thread does not inherit the modes of its caller.
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
    """Returns threads of this process: a forked one does not have the threads of its parent."""
    # A forked process makes its autograd engine when it first needs one, and crashes if two threads do.
    with torch.inference_mode(False), torch.enable_grad():
        torch.ones(1, requires_grad=True).exp()
    workers = ThreadPoolExecutor(
        num_workers, "side_by_side", _limit_threads, (num_threads // num_workers,)
    )
    all_there = threading.Barrier(num_workers)
    list(workers.map(lambda _: all_there.wait(), range(num_workers)))
    # Later threads begin with the number that any thread has set last.
    torch.set_num_threads(num_threads)
    return workers


def _limit_threads(num_threads: int) -> None:
    # PyTorch initialises a thread's number when first asked, which would undo the setting.
    torch.get_num_threads()
    torch.set_num_threads(num_threads)
