"""Makes the next item while the current one is in use."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Callable, Iterable, Iterator, Optional, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def prefetch(make: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Works like `map(make, items)`, but a thread makes the next result while the caller uses this one.

    The caller's thread draws from `items`. An error in `make` is raised when its result is due.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        current: Optional[Future[R]] = None
        for item in items:
            following = thread.submit(make, item)
            if current is not None:
                yield current.result()
            current = following
        if current is not None:
            yield current.result()
