"""How the kernels are compiled, and spread over threads."""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import numba
import numpy as np
import torch

# What a thread must at least have to do to be worth waking, in multiply-adds.
_MIN_WORK = 200_000


def kernel(function: Callable, may_reorder: bool = True) -> Callable:
    """Compiles `function` at its first call; the machine code is cached beside the source.

    Kernels let go of the interpreter's lock. Infinities and NaN mean what they mean everywhere.

    Args:
        function: what to compile.
        may_reorder: whether sums may be reordered, which lets loops over them be vectorised.
    """
    fastmath = {"contract", "nsz", "reassoc"} if may_reorder else {"contract"}
    options: Dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
        # Numba looks at the one file that a kernel is in, although it calls kernels of others. Where
        # this cannot be changed, nothing is cached, rather than something outdated.
        cache_file = dispatcher._cache._cache_file
        assert cache_file._source_stamp
        cache_file._source_stamp = _source_stamp(Path(function.__code__.co_filename).parent)
    except (RuntimeError, AttributeError):  # the first, if no cache folder is writable
        return numba.njit(**options)(function)
    return dispatcher


@functools.cache
def _source_stamp(folder: Path) -> List[Tuple[str, int, int]]:
    """What a folder's kernels are compiled from, to tell outdated machine code by."""
    return [
        (str(path), path.stat().st_mtime_ns, path.stat().st_size)
        for each in sorted({Path(__file__).parent, folder})
        for path in sorted(each.glob("*.py"))
    ]


def for_row_ranges(rows: Callable, lengths: np.ndarray, work_per_token: int, *args: Any) -> List:
    """Calls `rows(first, last, *args)` on ranges that together cover the batch.

    Uses threads of its own, at most `torch.get_num_threads()`. Numba's thread pools either do not
    survive a fork or do not allow two callers at once.

    Args:
        rows: a kernel that writes nothing outside its range of rows.
        lengths: (B,) int64, the number of tokens of each row.
        work_per_token: roughly, in multiply-adds.
        *args: passed on.

    Returns:
        What each call returned.
    """
    batch_size = len(lengths)
    num_threads = min(torch.get_num_threads(), batch_size)
    if num_threads > 1:
        # (B,)
        work = lengths.cumsum() * work_per_token
        num_threads = min(num_threads, int(work[-1]) // _MIN_WORK)
    if num_threads < 2:
        return [rows(0, batch_size, *args)]
    shares = work[-1] * np.arange(1, num_threads) // num_threads
    bounds = [0, *np.searchsorted(work, shares).tolist(), batch_size]
    pool = _threads(os.getpid())
    others = [
        pool.submit(rows, first, last, *args) for first, last in zip(bounds[1:-1], bounds[2:])
    ]
    own = rows(0, bounds[1], *args)
    return [own, *(other.result() for other in others)]


@functools.lru_cache(maxsize=1)
def _threads(process_id: int) -> ThreadPoolExecutor:
    """Threads of this process: a forked one does not have those of its parent."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="kernels")
