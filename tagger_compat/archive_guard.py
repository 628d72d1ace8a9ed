"""What an archive may reach while it is loaded: itself, and what its user gives.

`loading` is in force while AllenNLP loads an archive. Until it is left, Python's audit hook refuses

- files and folders outside of the archive that its config names, be it in part;
- any connection to the network;
- other programs that the config names, and other Pythons.

What the user names is let through: strings of the overrides, the file of weights, the folder of
TAGGER_TRANSFORMERS, and the transformer's folder that `may_read` names. Modules of Python and data of
packages are let through too. Code that comes with a transformer runs only from outside of archives, and
only if the user has set TAGGER_TRUST_REMOTE_CODE.
"""

import os
import re
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Iterable, Iterator, List, NoReturn, Optional, Set, Tuple

#: How to let one's own archive pass.
REMEDY = "set TAGGER_TRUST_ARCHIVES=1 if the archive is your own"

_PATH_EVENTS = {
    "open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.chmod",
    "os.link", "os.symlink", "os.truncate", "shutil.rmtree", "shutil.move", "shutil.copyfile",
}  # fmt: skip
_TWO_PATHS = {"os.rename", "os.link", "shutil.move", "shutil.copyfile"}
_NETWORK_EVENTS = {
    "socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto", "socket.sendmsg",
}  # fmt: skip
_PROGRAM_EVENTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"}
# What separates paths in the names that AllenNLP takes: `(archive.zip)#file`, `model.tar.gz!file`.
_SEPARATORS = re.compile(r"[()!#]|\w+://")
_URL = re.compile(r"\w+://")
# Characters that a terminal obeys, ends of lines of Unicode, halves of characters, and what turns the
# direction of writing.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def is_set(variable: str) -> bool:
    """Whether an environment variable is set to anything but 0."""
    return os.environ.get(variable, "0") not in ("", "0")


def printable(text: str) -> str:
    r"""Spells out the characters of a text that a terminal would obey, but for tabs and new lines.

    Example:
        >>> print(printable("PER" + chr(27) + "[2J"))
        PER\x1b[2J
    """
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


def refuse(what: str, remedy: str = REMEDY) -> NoReturn:
    """Raises a `ConfigurationError` of one line, or a `ValueError` without AllenNLP."""
    try:
        from allennlp.common.checks import ConfigurationError
    except ImportError:  # `tagger.huggingface` needs no AllenNLP.
        raise ValueError(f"{printable(what)}; {remedy}") from None
    raise ConfigurationError(f"{printable(what)}; {remedy}") from None


class Loading:
    """The archive that is being loaded.

    Args:
        own: What the user names, such as the file of weights.

    Attributes:
        folder: The folder of the archive, or of the run; None until its config has been read.
        file: The archive's file, or the folder of the run.
        names: All strings of its config, without those of the user.
        refusals: What has been refused, and why.
    """

    def __init__(self, own: Iterable[str]) -> None:
        self.own = set(own)
        self.folder: Optional[str] = None
        self.file: Optional[str] = None
        self.names: Set[str] = set()
        self.refusals: List[Exception] = []
        self._may_read: List[str] = []
        self._named: Tuple[str, ...] = ()

    def begin(self, folder: str, names: Set[str], own: Set[str]) -> None:
        """Starts to guard: says where the archive is, what its config names, and what its user does."""
        self.own |= own
        self.folder = os.path.abspath(folder)
        self.names = names - self.own
        folders = [".", self.folder]
        self._named = tuple(path for name in self.names for path in _paths(name, folders))
        transformers = os.environ.get("TAGGER_TRANSFORMERS")
        given = [path for name in self.own for path in _paths(name, ["."])]
        self._may_read += [*given, *([os.path.abspath(transformers)] if transformers else [])]

    def may_read(self, folder: str) -> None:
        """Lets a folder outside of the archive through."""
        self._may_read.append(os.path.abspath(folder))

    def num_file_bytes(self) -> int:
        """How many bytes the files have that may be read: the archive's, and what its user gives."""
        with suspended():
            # A file with several names counts once.
            sizes = {
                (status.st_dev, status.st_ino): status.st_size
                for path in filter(None, (self.folder, *self._may_read))
                for status in _files_below(path)
            }
        return sum(sizes.values())

    def check_path(self, path: Any) -> None:
        """Refuses a path, or a URL, that the config names and that lies outside of the archive."""
        name = os.fsdecode(path)
        if self.folder is None or name in self.own:
            return
        if _URL.match(name):
            self._refuse(f"the archive's config names `{name}`, which is on the network")
        full = os.path.abspath(name)
        if _is_within(full, self.folder) or not full.startswith(self._named):
            return
        # Imports list the folders of `sys.path`.
        is_listed = full in map(os.path.abspath, sys.path)
        folders = [*self._may_read, *_folders_of_python()]
        if is_listed or any(_is_within(full, each) for each in folders):
            return
        self._refuse(f"the archive's config names {full}, which lies outside of the archive")

    def check_address(self, address: str) -> None:
        """Refuses an address that the config names, such as `zip://a.txt::b.zip`."""
        if self.folder is not None and address not in self.own:
            self._refuse(
                f"the archive's config names `{address}`, which lies outside of the archive"
            )

    def check_connection(self, address: Any) -> None:
        """Refuses the network."""
        if not isinstance(address, (str, bytes)):
            self._refuse("loading the archive asks the network")

    def check_host(self, host: Any) -> None:
        """Refuses to look for a host on the network."""
        self._refuse(f"loading the archive asks the network for {os.fsdecode(host or '')}")

    def check_program(self, command: Any) -> None:
        """Refuses other Pythons, such as those that install packages, and what the config names."""
        words = command if isinstance(command, (list, tuple)) else [command]
        texts = {os.fsdecode(word) for word in words if isinstance(word, (str, bytes, os.PathLike))}
        if sys.executable in texts or texts & self.names:
            self._refuse(f"loading the archive runs {' '.join(sorted(texts))[:80]}")

    def _refuse(self, what: str) -> NoReturn:
        try:
            refuse(" ".join(what.split()))
        except Exception as error:
            self.refusals.append(error)
            raise


def _paths(name: str, folders: List[str]) -> Iterator[str]:
    for part in filter(None, _SEPARATORS.split(name.replace("\0", ""))):
        for folder in folders:
            yield os.path.abspath(os.path.join(folder, os.path.expanduser(part)))


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _files_below(path: str) -> Iterator[os.stat_result]:
    for file in [
        path,
        *(os.path.join(at, name) for at, _, names in os.walk(path) for name in names),
    ]:
        if os.path.isfile(file):
            yield os.stat(file)


def _folders_of_python() -> Iterator[str]:
    yield from {sys.prefix, sys.base_prefix}
    for name, module in list(sys.modules.items()):
        if "." not in name:
            yield from map(os.path.abspath, getattr(module, "__dict__", {}).get("__path__") or [])


_current: "ContextVar[Optional[Loading]]" = ContextVar("loading", default=None)
_is_audited = False


def current() -> Optional[Loading]:
    """The archive that is being loaded; None if none is, or it is trusted."""
    return _current.get()


@contextmanager
def loading(own: Iterable[str]) -> Iterator[Loading]:
    """Guards what is loaded inside, which the user names `own`; see the module.

    Raises:
        ConfigurationError: If an error follows from something that was refused; it says what.
    """
    global _is_audited
    if not _is_audited:
        sys.addaudithook(_audit)
        _is_audited = True
    state = Loading(own)
    token = _current.set(state)
    try:
        yield state
    except Exception:
        # Libraries catch the refusal, and say something else.
        if state.refusals:
            raise state.refusals[0] from None
        raise
    finally:
        _current.reset(token)


@contextmanager
def suspended() -> Iterator[None]:
    """Leaves the guard for what is not the archive's doing."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def _audit(event: str, args: Any) -> None:
    state = _current.get()
    if state is None or state.folder is None:
        return
    with suspended():  # What a check does is no doing of the archive.
        if event in _PATH_EVENTS:
            for path in args[: 2 if event in _TWO_PATHS else 1]:
                if isinstance(path, (str, bytes, os.PathLike)):
                    state.check_path(path)
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            state.check_host(args[0])
        elif event in _NETWORK_EVENTS:
            state.check_connection(args[1])
        elif event in _PROGRAM_EVENTS:
            state.check_program(args[1] if event == "subprocess.Popen" else args[0])


def may_read(folder: Any) -> None:
    """Lets a transformer's folder outside of an archive be read while the archive is loaded."""
    state = current()
    if state is not None:
        state.may_read(os.fspath(folder))


def check_address(address: str) -> None:
    """Refuses to open an address while an archive is loaded, unless its user names it."""
    state = current()
    if state is not None:
        state.check_address(address)


def archive_file() -> Optional[str]:
    """The file of the archive that is being loaded, or the folder of the run; None if none is."""
    state = current()
    return None if state is None else state.file


def may_run_code(folder: Any) -> bool:
    """Whether code that lies in a transformer's folder may run: never that of an archive."""
    if not is_set("TAGGER_TRUST_REMOTE_CODE"):
        return False
    state = current()
    inside = state is not None and state.folder
    return not (inside and _is_within(os.path.abspath(os.fspath(folder)), inside))


@contextmanager
def transformer_loaded(name: Any) -> Iterator[None]:
    """Says in one line that a transformer's own code is not run.

    Raises:
        ConfigurationError: If transformers refuses to run the code.
    """
    try:
        yield
    except ValueError as error:
        if "trust_remote_code" not in str(error):
            raise
        refuse(
            f"the transformer {name} comes with code of its own, which is not run",
            "set TAGGER_TRUST_REMOTE_CODE=1 if you trust it and it is no part of an archive",
        )


def transformer_on_this_machine(name: str) -> str:
    """Returns the folder of a transformer that an archive names, and lets it be read.

    Args:
        name: A folder, or a name on the hub, which must be in the hub's cache.

    Raises:
        ConfigurationError: If it is neither.
    """
    folder = name if os.path.isfile(os.path.join(name, "config.json")) else in_hub_cache(name)
    if folder is None:
        refuse(
            f"the archive needs the transformer {name!r}, which is neither a folder nor in the cache of "
            f"the Hugging Face hub",
            "download it first, or name a folder with --overrides",
        )
    may_read(folder)
    return folder


def in_hub_cache(name: str) -> Optional[str]:
    """Returns a transformer's folder in the cache of the Hugging Face hub; None if it is not there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return str(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError):
        return None


def _never_ask(*_: Any) -> NoReturn:
    raise EOFError("standard input is the user's data")


def let_transformers_never_ask() -> None:
    """Keeps transformers from asking whether to run code: it reads the answer from standard input."""
    from tagger_compat import after_import

    def replace() -> None:
        sys.modules["transformers.dynamic_module_utils"].input = _never_ask  # type: ignore[attr-defined]

    after_import("transformers.dynamic_module_utils", replace)
