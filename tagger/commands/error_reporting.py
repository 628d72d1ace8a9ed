"""Error reporting: user errors print as one final line, and results after the logs."""

import errno
import logging
import re
import signal
import sys
import traceback
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived

from tagger.common.console import command_running, is_quiet, quieten, say
from tagger_compat.archive_guard import printable
from tagger_compat.extensions import JsonnetError

#: The shell's exit statuses for commands stopped by SIGINT and by SIGTERM.
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
#: Errors that users can correct.
_OF_USERS = (ConfigurationError, OSError, ValueError)
#: A full disk, an exceeded quota, or a file that is too large.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: The module that builds the parts of a config.
_BUILDER = "allennlp.common.from_params"
#: The libraries that access remote stores.
_CLIENTS = {
    *("adlfs", "aiobotocore", "aiohttp", "azure", "boto3", "botocore", "gcsfs", "google", "ocifs"),
    *("paramiko", "requests", "s3fs", "smbprotocol", "urllib3", "webdav4"),
}
_STORE_REMEDY = (
    "check the address, the network and the store's credentials; for S3 set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or FSSPEC_S3_ANON=true for a public bucket"
)


@contextmanager
def errors_reported(command: str) -> Iterator[None]:
    """Runs an AllenNLP command quietly; results print last, and user errors print as one line.

    Bugs keep their traceback, and so do all errors if the user asks for more logging.
    """
    quieten(logging.getLogger().handlers)
    # A failure to write the log, for example on a full disk, must not hide another error.
    logging.raiseExceptions = not is_quiet()
    sys.excepthook = _show_traceback
    with command_running():
        try:
            yield
            return
        except (KeyboardInterrupt, SigTermReceived) as error:
            status = _say_interrupted(command, error)
        except Exception as error:
            line = _one_line(error)
            if line is None or not is_quiet():
                raise
            sys.stdout.flush()
            say(f"{command}: {line}", file=sys.stderr)
            status = 1
        # Outside the handler, so that nothing holds on to the traceback.
        sys.exit(status)


@contextmanager
def errors_in_one_line(command: str) -> Iterator[None]:
    """On an error in arguments, files or data, prints one line and exits with status 1."""
    try:
        yield
    except (KeyboardInterrupt, SigTermReceived) as error:
        raise SystemExit(_say_interrupted(command, error)) from None
    except Exception as error:
        if not (isinstance(error, _OF_USERS) or _is_of_store(error)):
            raise
        raise SystemExit(printable(f"{command}: {_joined(error)}")) from None


def _show_traceback(*error: Any) -> None:
    say("".join(traceback.format_exception(*error)), end="", file=sys.stderr)


def _say_interrupted(command: str, error: BaseException) -> int:
    option = _to_go_on()
    hint = f"; to go on, repeat the command{option}" if option else ""
    sys.stdout.flush()
    print(f"{command}: interrupted{hint}", file=sys.stderr)
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else TERMINATED


def _to_go_on() -> str:
    return " with --recover" if sys.argv[1:2] == ["train"] else ""


def _is_of_store(error: Exception) -> bool:
    """Whether the error comes from a library that accesses a remote store such as S3."""
    names = [_origin(error), *(each.__module__ for each in type(error).__mro__)]
    return any(name.partition(".")[0] in _CLIENTS for name in names)


def _joined(error: Exception) -> str:
    hint = ""
    if _is_of_store(error):
        addresses = [word for word in sys.argv if "://" in word and not word.startswith("file:")]
        named = f"{' or '.join(addresses)}: " if addresses else ""
        return f"{named}{' '.join(str(error).split()) or repr(error)}; {_STORE_REMEDY}"
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        hint = f"; make room on the disk, and repeat the command{_to_go_on()}"
    return (" ".join(str(error).split()) or repr(error)) + hint


def _one_line(error: Exception) -> Optional[str]:
    """Returns a user error as one line; None for a bug."""
    origin = _origin(error)
    is_ours = type(error) is ImportError or isinstance(error, ValueError)
    is_ours = is_ours and origin.partition(".")[0] == "tagger"
    if isinstance(error, (ConfigurationError, OSError)) or is_ours or _is_of_store(error):
        return _joined(error)
    first_line = (str(error).splitlines() or [repr(error)])[0]
    if isinstance(error, ModuleNotFoundError):
        return _missing_module(error)
    # The type of a value in a config is wrong.
    if isinstance(error, TypeError) and origin == _BUILDER:
        return f"the config has a value of another type: {first_line}"
    if _is_of_construction(error):
        return f"a part of the config cannot be built from its arguments: {first_line}"
    if isinstance(error, JsonnetError):  # The position follows on later lines.
        reason = first_line.removeprefix("RUNTIME ERROR: ").removeprefix("STATIC ERROR: ")
        # Only errors in overrides have no file name.
        what = "`--overrides`" if re.match(r"\d+:", reason) else "the config"
        return f"{what} cannot be read: {reason}"
    return None


def _missing_module(error: ModuleNotFoundError) -> Optional[str]:
    """Says which code imports a missing package; None if the package is one of ours."""
    name = (error.name or "").partition(".")[0]
    places = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename
    ]
    if not name or name in ("tagger", "tagger_compat", "tagger_onnx", "tagger_texts"):
        return None
    if places[-1].name == "import_module_and_submodules":
        return (
            f"`--include-package` names `{error.name}`, which is neither a module below the current "
            "folder nor installed"
        )
    options = "--no-deps " if name.startswith("allennlp") else ""
    return (
        f"{places[-1].filename}:{places[-1].lineno}: imports `{name}`, which is not "
        f"installed; run: pip install {options}{name.replace('_', '-')}"
    )


def _is_of_construction(error: Exception) -> bool:
    """Whether PyTorch rejects an argument that a config passes to it, such as a negative size."""
    if not isinstance(error, (OverflowError, RuntimeError, TypeError, ValueError)):
        return False
    callers = _callers(error)
    builders = [
        place for place, (module, _) in enumerate(callers) if module.endswith(".from_params")
    ]
    after = callers[builders[-1] + 1 :] if builders else []
    return bool(after) and all(
        name == "__init__" or module.startswith("torch.") for module, name in after
    )


def _origin(error: Exception) -> str:
    """Returns the name of the module that raised an error."""
    return [module for module, _ in [("", ""), *_callers(error)]][-1]


def _callers(error: Exception) -> List[Tuple[str, str]]:
    """Returns the modules and functions that an error went through, from the outermost."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [(frame.f_globals.get("__name__", ""), frame.f_code.co_name) for frame in frames]
