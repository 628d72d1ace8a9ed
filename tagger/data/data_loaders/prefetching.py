"""Making the next thing while this one is in use."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Callable, Iterable, Iterator, Optional, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def prefetch(make: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Like `map(make, items)`, but a thread makes the next result while the caller uses this one.

    `items` are drawn on the caller's thread. What `make` raises is raised at its turn.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        coming: Optional[Future[R]] = None
        for item in items:
            following = thread.submit(make, item)
            if coming is not None:
                yield coming.result()
            coming = following
        if coming is not None:
            yield coming.result()
