"""What commands show: logs, and at last, by `show_last` inside of `command_running`, results."""

import logging
import os
import sys
from contextlib import contextmanager
from typing import Any, Iterator, List

from tagger_compat.archive_guard import printable

logger = logging.getLogger(__name__)

#: Packages whose information the console shows.
_SHOWN = ("tagger", "tagger_compat")
#: Warnings of what users have asked for begin so.
_NOISE = ("You provided a validation dataset but patience was set to None",)
#: Whether a command of `allennlp` is running, and what it shows last.
_is_command = False
_last_texts: List[str] = []
#: What is under way, such as an epoch.
_activity = ""


def say(text: str, **options: Any) -> None:
    """Prints a text that may have words of data or of an archive, which the terminal must not obey."""
    print(printable(text), **options)


def show_last(title: str, text: str) -> None:
    """Logs a result, and shows it at the end of the command unless another of its title follows."""
    logger.info("%s\n%s", title, text, extra={"is_shown_last": _is_command})
    if _is_command:
        _last_texts[:] = [each for each in _last_texts if not each.startswith(f"{title}\n")]
        _last_texts.append(f"{title}\n{text}")


@contextmanager
def command_running() -> Iterator[None]:
    """Shows the results of a command when it ends without an error."""
    global _is_command
    _is_command = True
    try:
        yield
        for text in _last_texts:
            say(f"\n{text}")
    finally:
        _is_command = False
        _last_texts.clear()


@contextmanager
def activity(name: str) -> Iterator[None]:
    """Has progress bars say what is under way."""
    global _activity
    _activity = name
    try:
        yield
    finally:
        _activity = ""


def current_activity() -> str:
    """What is under way; empty if nothing is."""
    return _activity


def is_quiet() -> bool:
    """Whether the user leaves it to us what is logged."""
    return not (os.environ.get("ALLENNLP_LOG_LEVEL") or os.environ.get("ALLENNLP_DEBUG"))


def quieten(handlers: List[logging.Handler]) -> None:
    """Makes those handlers that write to the console show what is worth reading."""
    for handler in handlers:
        is_console = getattr(handler, "stream", None) in (sys.stdout, sys.stderr)
        if is_console and is_quiet():
            handler.addFilter(_is_worth_reading)
            handler.setFormatter(_ConsoleFormatter("%(message)s"))


def _is_worth_reading(record: logging.LogRecord) -> bool:
    if str(record.msg).startswith(_NOISE):
        return False
    is_ours = record.name.partition(".")[0] in _SHOWN
    return record.levelno >= logging.WARNING or (
        is_ours and not getattr(record, "is_shown_last", False)
    )


class _ConsoleFormatter(logging.Formatter):
    """The message alone, or below a warning's level."""

    def format(self, record: logging.LogRecord) -> str:
        message = printable(super().format(record))
        return message if record.levelno <= logging.INFO else f"{record.levelname}: {message}"
