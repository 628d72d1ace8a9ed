"""Two pieces of PyTorch's work at the same time, each on half of a CPU's threads."""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List, Sequence, Tuple

import torch


def run_both(
    function: Callable[..., Any], first: Sequence[Any], second: Sequence[Any]
) -> List[Any]:
    """Calls a function with two tuples of arguments, without gradients.

    Of the n threads that PyTorch may use, each call has n // 2 to itself, where there are two. PyTorch
    cuts each single operation in n, and waits for the slowest part of it before the next.

    Returns:
        What each call returned.
    """
    # A thread does not have the modes of the one that gives it work.
    is_inference = torch.is_inference_mode_enabled()

    def call(arguments: Sequence[Any]) -> Any:
        with torch.inference_mode(is_inference), torch.no_grad():
            return function(*arguments)

    num_threads = torch.get_num_threads()
    if num_threads < 2:
        return [call(first), call(second)]
    running = [
        worker.submit(call, arguments)
        for worker, arguments in zip(_workers(os.getpid(), num_threads), (first, second))
    ]
    return [each.result() for each in running]


@functools.lru_cache(maxsize=1)
def _workers(process_id: int, num_threads: int) -> Tuple[ThreadPoolExecutor, ThreadPoolExecutor]:
    """Two threads of this process: a forked one does not have those of its parent."""
    workers = ThreadPoolExecutor(1, "lstm"), ThreadPoolExecutor(1, "lstm")
    for worker in workers:
        worker.submit(_limit_threads, num_threads // 2).result()
    # What one thread sets is what later ones begin with.
    torch.set_num_threads(num_threads)
    return workers


def _limit_threads(num_threads: int) -> None:
    # Asked first, or PyTorch would set the thread's number anew when it is asked next.
    torch.get_num_threads()
    torch.set_num_threads(num_threads)
