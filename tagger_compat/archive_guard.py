"""Restricts what an archive can access while it is loaded: itself, installed packages, the user's paths.

`loading` guards AllenNLP's loading of an archive. Inside of it, Python's audit hook rejects

- every file and folder, whoever opens it, except in the archive's folder, in Python's packages, and
  under paths that the user names: strings of the overrides, the file of weights, the folder of
  TAGGER_TRANSFORMERS, and the transformer's folder passed to `may_read`;
- any network connection;
- other Python interpreters, and other programs that the config names.

Threads started meanwhile are guarded too, but earlier ones are not. Libraries in C open files without an
audit; `check_path` is for them. The audit hook cannot be removed, and does nothing between loadings;
`Thread.start` is replaced only while an archive is being loaded.
"""

import functools
import importlib.machinery
import os
import re
import site
import sys
import sysconfig
import tempfile
import threading
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Any, Callable, Iterable, Iterator, List, NoReturn, Optional, Set, Tuple

from tagger_compat.thread_starts import noticed

#: How to load your own archive unchecked.
REMEDY = "set TAGGER_TRUST_ARCHIVES=1 if the archive is your own"

_PATH_EVENTS = {
    "open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.chmod",
    "os.link", "os.symlink", "os.truncate", "shutil.rmtree", "shutil.move", "shutil.copyfile",
    "sqlite3.connect",
}  # fmt: skip
_NEW = os.O_CREAT | os.O_EXCL
_TWO_PATHS = {"os.rename", "os.link", "os.symlink", "shutil.move", "shutil.copyfile"}
_NETWORK_EVENTS = {
    "socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto", "socket.sendmsg",
}  # fmt: skip
_PROGRAM_EVENTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"}
# The separators in AllenNLP's compound paths: `(archive.zip)#file`, `model.tar.gz!file`.
_SEPARATORS = re.compile(r"[()!#]|\w+://")
# Files of modules, and metadata of packages.
_SUFFIXES = "|".join(map(re.escape, importlib.machinery.all_suffixes()))
_MODULE = re.compile(rf"({_SUFFIXES})$|\.(dist|egg)-info(/|$)")
_URL = re.compile(r"\w+://")
# System files that libraries read.
_SYSTEM = re.compile(
    r"/dev/(null|u?random)|/etc/(localtime|mime\.types|os-release|nsswitch\.conf)|/sys/.*|/proc/(cpuinfo|"
    r"meminfo|stat|version|filesystems|sys/.*|\d+/(stat|statm|status|maps|smaps|cgroup|mounts|mountinfo))"
)
#: The longest message, in characters; names in it may be long.
MAX_MESSAGE = 600
# Terminal control characters, Unicode line ends, surrogates, and marks that change text direction.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def is_set(variable: str) -> bool:
    """Whether an environment variable is set to anything but 0."""
    return os.environ.get(variable, "0") not in ("", "0")


def printable(text: str) -> str:
    r"""Escapes a text's terminal control characters, except for tabs and line feeds.

    Example:
        >>> print(printable("PER" + chr(27) + "[2J"))
        PER\x1b[2J
    """
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


def refuse(what: str, remedy: str = REMEDY) -> NoReturn:
    """Raises a `ConfigurationError` with one line, or a `ValueError` without AllenNLP."""
    message = f"{shortened(what)}; {remedy}"
    try:
        from allennlp.common.checks import ConfigurationError
    except ImportError:  # Folders of Hugging Face need no AllenNLP.
        raise ValueError(message) from None
    raise ConfigurationError(message) from None


def shortened(text: str, length: int = MAX_MESSAGE) -> str:
    """Returns a printable text in one line, shortened in the middle if it is too long."""
    half = length // 2
    if len(text) > 2 * length:  # Shorten first, because escaping makes it longer.
        text = f"{text[:length]}{text[-length:]}"
    text = " ".join(printable(text).split())
    return text if len(text) <= length else f"{text[:half]} [...] {text[-half:]}"


class Loading:
    """The archive that is being loaded, and the paths that its user names (`own`).

    Attributes:
        folder: The folder of the archive or run; None until its config has been read.
        file: The archive's file, or the folder of the run.
        names: All strings in its config, except the user's.
        refusals: Messages about what has been rejected.
        trials: Functions that must succeed before the archive counts as loaded.
    """

    def __init__(self, own: Iterable[str]) -> None:
        self.own = set(own)
        self.folder: Optional[str] = None
        self.file: Optional[str] = None
        self.names: Set[str] = set()
        self.refusals: List[Exception] = []
        self.trials: List[Callable[[], object]] = []
        self._may_read: List[str] = []
        # Package folders in which files have been opened.
        self._known: Set[str] = set()

    def begin(self, folder: str, names: Set[str], own: Set[str]) -> None:
        """Starts to guard, given the archive's folder, the names in its config, and the user's names."""
        self.own |= own
        self.names = names - self.own
        given = [os.environ.get("TAGGER_TRANSFORMERS", ""), *self.own]
        for part in (part for name in given for part in _SEPARATORS.split(name.replace("\0", ""))):
            path = os.path.abspath(os.path.expanduser(part))
            # A string such as "." or "/" must not open up the whole disk.
            if part and os.path.exists(path) and not _is_within(os.getcwd(), path):
                self._may_read.append(path)
        self.folder = os.path.realpath(folder)

    def may_read(self, folder: str) -> None:
        """Allows access to a folder outside the archive."""
        self._may_read.append(os.path.abspath(folder))

    def is_named_by_user(self, path: str) -> bool:
        """Whether a path is one that the user names, or lies under one."""
        full = os.path.abspath(os.path.expanduser(path))
        return path in self.own or any(_is_within(full, each) for each in self._may_read)

    def num_file_bytes(self) -> int:
        """The size in bytes of all files that may be read: the archive's and the user's."""
        with suspended():
            # A file with several names counts once.
            sizes = {
                (status.st_dev, status.st_ino): status.st_size
                for path in filter(None, (self.folder, *self._may_read))
                for status in _files_below(path)
            }
        return sum(sizes.values())

    def holds(self, path: Any) -> bool:
        """Whether a path is inside the archive."""
        return self.folder is not None and _is_within(os.path.realpath(path), self.folder)

    def check_path(self, path: Any, is_new: bool = False) -> None:
        """Rejects a path or URL that is off limits, except for new temporary files."""
        name = os.fsdecode(path)
        if self.folder is None or name in self.own:
            return
        if _URL.search(name):
            self._refuse(f"the archive's config names `{name}`, which lies outside of the archive")
        # The meaning of `..` depends on links.
        full = os.path.realpath(name) if ".." in name else os.path.abspath(name)
        if os.path.dirname(full) in self._known or self._may_reach(full):
            return
        if is_new and os.path.dirname(full) == os.path.abspath(tempfile.gettempdir()):
            self._may_read.append(full)
            return
        self._refuse(f"loading the archive reaches for {full}, which lies outside of the archive")

    def _may_reach(self, full: str) -> bool:
        if self.holds(full):
            return True
        if any(_is_within(full, each) for each in chain(_installed_folders(), _imported_folders())):
            self._known.add(os.path.dirname(full))
            return True
        # Imports list the folders of `sys.path` and read their modules.
        paths = [os.path.abspath(each) for each in sys.path]
        is_module = bool(_MODULE.search(full)) and any(_is_within(full, each) for each in paths)
        is_own = any(_is_within(full, each) for each in (*self._may_read, *_caches()))
        real = os.path.realpath(full)
        return is_module or is_own or full in paths or _SYSTEM.fullmatch(real) is not None

    def check_connection(self, address: Any) -> None:
        """Rejects network connections."""
        if not isinstance(address, (str, bytes)):
            self._refuse("loading the archive asks the network")

    def check_host(self, host: Any) -> None:
        """Rejects host lookups."""
        self._refuse(f"loading the archive asks the network for {os.fsdecode(host or '')}")

    def check_program(self, command: Any) -> None:
        """Rejects other Python interpreters, for example pip, and programs that the config names."""
        words = command if isinstance(command, (list, tuple)) else [command]
        texts = {os.fsdecode(word) for word in words if isinstance(word, (str, bytes, os.PathLike))}
        if sys.executable in texts or texts & self.names:
            self._refuse(f"loading the archive runs {' '.join(sorted(texts))[:80]}")

    def _refuse(self, what: str) -> NoReturn:
        try:
            refuse(what)
        except Exception as error:
            self.refusals.append(error)
            raise


@functools.cache
def _installed_folders() -> Tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    libraries = [
        *map(sysconfig.get_path, names),
        *site.getsitepackages(),
        os.path.dirname(os.__file__),
    ]
    libraries.append(site.getusersitepackages())
    return tuple({form(each) for each in libraries for form in (os.path.abspath, os.path.realpath)})


def _imported_folders() -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if "." not in name:
            yield from map(os.path.abspath, getattr(module, "__dict__", {}).get("__path__") or [])


def _caches() -> Iterator[str]:
    """Yields the folders in which libraries cache compiled code."""
    names = "NUMBA_CACHE_DIR TRITON_CACHE_DIR TORCHINDUCTOR_CACHE_DIR TORCH_EXTENSIONS_DIR"
    yield from (os.path.abspath(os.environ[each]) for each in names.split() if os.environ.get(each))
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    yield from (os.path.join(cache, each) for each in ("numba", "torch_extensions"))
    yield from (os.path.expanduser(f"~/{each}") for each in (".triton", ".nv"))


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _files_below(path: str) -> Iterator[os.stat_result]:
    for file in [
        path,
        *(os.path.join(at, name) for at, _, names in os.walk(path) for name in names),
    ]:
        if os.path.isfile(file):
            yield os.stat(file)


_current: "ContextVar[Optional[Loading]]" = ContextVar("loading")
# The threads that were started while an archive was being loaded.
_threads: "weakref.WeakKeyDictionary[Any, Loading]" = weakref.WeakKeyDictionary()


def current() -> Optional[Loading]:
    """Returns the archive that is being loaded; None if there is none or it is trusted."""
    try:
        return _current.get()
    except LookupError:
        return _threads.get(threading.current_thread()) if _threads else None


@contextmanager
def loading(own: Iterable[str]) -> Iterator[Loading]:
    """Guards the loading inside; `own` are the names that the user gives. See the module's docstring.

    Raises:
        ConfigurationError: If an access was rejected, with its message.
    """
    _install()
    state = Loading(own)
    token = _current.set(state)
    try:
        with noticed(_own_thread):
            yield state
    except Exception:
        # Libraries may catch our error and raise another one.
        if state.refusals:
            raise state.refusals[0] from None
        raise
    finally:
        _current.reset(token)
        for thread in [each for each, own_state in _threads.items() if own_state is state]:
            del _threads[thread]


def _own_thread(thread: threading.Thread) -> None:
    """Guards a new thread if it is started for an archive."""
    state = current()
    if state is not None:
        _threads[thread] = state


@functools.cache
def _install() -> None:
    """Installs the audit hook once; it does nothing unless an archive is being loaded."""
    sys.addaudithook(_audit)


@contextmanager
def suspended() -> Iterator[None]:
    """Suspends the guard for code that does not act on the archive's behalf."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def _audit(event: str, args: Any) -> None:
    state = current()
    if state is None or state.folder is None:
        return
    with suspended():  # The checks themselves are not the archive's accesses.
        if event in _PATH_EVENTS:
            for path in args[: 2 if event in _TWO_PATHS else 1]:
                if isinstance(path, (str, bytes, os.PathLike)):
                    is_new = event == "os.mkdir" or (event == "open" and args[2] & _NEW == _NEW)
                    state.check_path(path, is_new)
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            state.check_host(args[0])
        elif event in _NETWORK_EVENTS:
            state.check_connection(args[1])
        elif event in _PROGRAM_EVENTS:
            state.check_program(args[1] if event == "subprocess.Popen" else args[0])


def may_read(folder: Any) -> None:
    """Allows a transformer's folder outside the archive to be read while that is being loaded."""
    state = current()
    if state is not None:
        state.may_read(os.fspath(folder))


def check_path(path: Any) -> None:
    """Rejects a path or address that an archive must not access while it is being loaded."""
    state = current()
    if state is not None:
        state.check_path(path)


def before_use(attempt: Callable[[], object]) -> None:
    """Runs `attempt` once the archive that is being loaded has its weights; else does nothing."""
    state = current()
    if state is not None:
        state.trials.append(attempt)


def archive_file() -> Optional[str]:
    """Returns the file of the archive, or run folder, that is being loaded; None if there is none."""
    return getattr(current(), "file", None)
