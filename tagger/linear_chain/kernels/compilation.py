"""Compiles Numba kernels and spreads them over threads."""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Callable, Dict, List, TypeVar

import numba
import numpy as np
import torch

from tagger.linear_chain.kernels.cache import KernelCache, NoCache

# The least work that is worth waking a thread for, in multiply-adds.
_MIN_WORK = 200_000


Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function, may_reorder: bool = True) -> Function:
    """Compiles `function` at its first call, and caches the machine code beside the source.

    Kernels release the interpreter's lock, and treat infinities and NaN as IEEE 754 does. If sums may
    be reordered, loops over them can be vectorised. A loop that sums must not write to an array as
    well: LLVM vectorises such a loop only if its arrays are far enough apart in memory, so the last
    digits of the sum would depend on that.
    """
    fastmath = {"contract", "nsz", "reassoc"} if may_reorder else {"contract"}
    options: Dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    # Nobody calls them from C.
    options["no_cfunc_wrapper"] = True
    dispatcher: Any = numba.njit(**options)(function)
    try:
        dispatcher._cache = KernelCache(function)
    except RuntimeError:  # no folder is writable
        dispatcher._cache = NoCache()
    return dispatcher


def for_row_ranges(rows: Callable, lengths: np.ndarray, work_per_token: int, *args: Any) -> List:
    """Calls `rows(first, last, *args)`, which writes only to these rows, on ranges that cover all.

    The ranges run on separate threads, at most `torch.get_num_threads()`, because Numba's thread pools
    either do not survive a fork or do not allow two callers at once. `lengths` are those of the rows,
    (B,) int64, and `work_per_token` is a rough number of multiply-adds.
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
    others = [pool.submit(rows, first, last, *args) for first, last in pairwise(bounds[1:])]
    own = rows(0, bounds[1], *args)
    return [own, *(other.result() for other in others)]


@functools.lru_cache(maxsize=1)
def _threads(process_id: int) -> ThreadPoolExecutor:
    """Returns the thread pool of this process: a forked process does not have its parent's threads."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="kernels")
