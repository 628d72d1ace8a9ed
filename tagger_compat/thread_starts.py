"""Notices the threads that are started while archives are being loaded."""

import functools
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List

_start = threading.Thread.start
_lock = threading.Lock()
#: What is called with each new thread, by those that are inside `noticed`.
_notices: List[Callable[[Any], None]] = []


@functools.wraps(_start)
def _noticed_start(self: threading.Thread) -> None:
    for notice in _notices[:1]:
        notice(self)
    _start(self)


@contextmanager
def noticed(notice: Callable[[Any], None]) -> Iterator[None]:
    """Calls a function with each thread before it starts, by replacing `Thread.start` meanwhile.

    Several threads may be inside, with the same function: the first replaces, and the last restores.
    """
    with _lock:
        _notices.append(notice)
        if len(_notices) == 1:
            threading.Thread.start = _noticed_start  # type: ignore[method-assign]
    try:
        yield
    finally:
        with _lock:
            _notices.remove(notice)
            # If another library has replaced it meanwhile, its function calls ours.
            if not _notices and threading.Thread.start is _noticed_start:
                threading.Thread.start = _start  # type: ignore[method-assign]
