"""Console output of commands: logs first, then the results passed to `show_last`."""

import logging
import os
import sys
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from tagger_compat.archive_guard import printable

logger = logging.getLogger(__name__)

#: The console shows the INFO logs of these packages.
_SHOWN = ("tagger", "tagger_compat")
#: Beginnings of warnings about settings that users chose deliberately.
_NOISE = ("You provided a validation dataset but patience was set to None",)
#: Whether an `allennlp` command is running, and the results that it will show at the end.
_is_command = False
_last_texts: List[str] = []
#: When the console showed each line of information first. A file that is read twice is described once.
_shown_at: Dict[str, float] = {}
#: The current activity, such as an epoch.
_activity = ""


def say(text: str, **options: Any) -> None:
    """Prints a text with terminal control characters escaped, since it may quote untrusted data."""
    print(printable(text), **options)


class Painted(str):
    """A line some parts of which have a colour on a terminal, by number from 0."""

    parts: Sequence[Tuple[str, Optional[int]]]

    def __new__(cls, parts: Iterable[Tuple[str, Optional[int]]]) -> "Painted":
        parts = list(parts)
        line = super().__new__(cls, "".join(text for text, _ in parts))
        line.parts = parts
        return line

    def for_terminal(self) -> str:
        """Returns the line with codes for colours, and with control characters escaped."""
        return "".join(
            printable(text)
            if colour is None
            else f"\x1b[1;{31 + colour % 6}m{printable(text)}\x1b[0m"
            for text, colour in self.parts
        )


def say_lines(lines: Iterable[str]) -> None:
    """Like `say`, for lines that may be `Painted`; colours are for terminals alone."""
    has_colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for line in lines:
        if has_colours and isinstance(line, Painted):
            print(line.for_terminal())
        else:
            say(line)


#: A topic, and what is said of it, which may be `Painted`; None or empty for nothing.
Said = Tuple[str, Optional[str]]


def topics(said: Iterable[Said], margin: str = "  ", width: int = 11) -> List[str]:
    """Returns a line for each topic of which something is said."""
    return [
        Painted([(f"{margin}{topic:{width}}", None), *getattr(text, "parts", [(text, None)])])
        for topic, text in said
        if text
    ]


def show_last(title: str, text: str) -> None:
    """Logs a result and shows it when the command ends; a later result of that title replaces it."""
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
        _shown_at.clear()


@contextmanager
def activity(name: str) -> Iterator[None]:
    """Shows a name in progress bars meanwhile."""
    global _activity
    _activity = name
    try:
        yield
    finally:
        _activity = ""


def current_activity() -> str:
    """Returns the name given to `activity`; empty outside of it."""
    return _activity


def is_quiet() -> bool:
    """Whether the user has set no log level, which leaves the choice to us."""
    return not (os.environ.get("ALLENNLP_LOG_LEVEL") or os.environ.get("ALLENNLP_DEBUG"))


def quieten(handlers: List[logging.Handler]) -> None:
    """Filters console handlers: warnings, and information from our packages only."""
    for handler in handlers:
        is_console = getattr(handler, "stream", None) in (sys.stdout, sys.stderr)
        if is_console and is_quiet():
            handler.addFilter(_is_worth_reading)
            handler.setFormatter(_ConsoleFormatter("%(message)s"))


def _is_worth_reading(record: logging.LogRecord) -> bool:
    if str(record.msg).startswith(_NOISE):
        return False
    if record.levelno >= logging.WARNING:
        return True
    is_ours = record.name.partition(".")[0] in _SHOWN
    if not is_ours or getattr(record, "is_shown_last", False):
        return False
    return _shown_at.setdefault(record.getMessage(), record.created) == record.created


class _ConsoleFormatter(logging.Formatter):
    """Formats information as the bare message, and prefixes warnings and errors with their level."""

    def format(self, record: logging.LogRecord) -> str:
        message = printable(super().format(record))
        return message if record.levelno <= logging.INFO else f"{record.levelname}: {message}"
