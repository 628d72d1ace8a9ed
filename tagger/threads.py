"""Pieces of PyTorch's work at the same time, each on a share of a CPU's threads.

PyTorch itself cuts every single operation in as many parts as it may use threads, and waits for the
slowest before the next. Where there is more than one thing to do, giving each its own threads is faster.
"""

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List, Sequence, Tuple

import torch


def run_side_by_side(
    function: Callable[..., Any], calls: Sequence[Tuple[Any, ...]], num_workers: int
) -> List[Any]:
    """Calls a function with each tuple of arguments, without gradients.

    Args:
        function: what to call.
        calls: the arguments of each call.
        num_workers: how many calls to run at the same time; they share the threads that PyTorch may use,
            and there are no more workers than threads.

    Returns:
        What each call returned.
    """
    # A thread does not have the modes of the one that gives it work.
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
def _workers(process_id: int, num_workers: int, num_threads: int) -> ThreadPoolExecutor:
    """Threads of this process: a forked one does not have those of its parent."""
    workers = ThreadPoolExecutor(
        num_workers, "side_by_side", _limit_threads, (num_threads // num_workers,)
    )
    all_there = threading.Barrier(num_workers)
    list(workers.map(lambda _: all_there.wait(), range(num_workers)))
    # What one thread sets is what later ones begin with.
    torch.set_num_threads(num_threads)
    return workers


def _limit_threads(num_threads: int) -> None:
    # Asked first, or PyTorch would set the thread's number anew when it is asked next.
    torch.get_num_threads()
    torch.set_num_threads(num_threads)
