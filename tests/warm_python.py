"""A Python that starts with libraries already loaded, for tests that need separate processes.

AllenNLP takes ten seconds to import its libraries. A server imports them once and forks a process for
each caller. It imports neither AllenNLP nor this project: every process still does that by itself.

`WarmPython.executable` replaces `sys.executable`. It passes its arguments, folder, environment and open
files to a forked process, forwards signals to it, and exits with its status. Calls that the server can't
imitate, such as `python -S`, go to the real interpreter.
"""

import atexit
import contextlib
import fcntl
import gc
import importlib
import io
import json
import multiprocessing
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import types
from pathlib import Path

LIBRARIES = [
    "cached_path",
    "nltk",
    "numba",
    "sklearn.metrics",
    "spacy",
    "tensorboardX",
    "torch",
    "transformers.data.data_collator",
    "transformers.models.bert.modeling_bert",
]
FORWARDED_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
# Variables with these prefixes are read when the interpreter or a library starts.
STARTUP_VARIABLES = ("PYTHON", "OMP_", "TRITON_")
MAX_FILES = 250


class WarmPython:
    """Starts the server, which ends when it is closed or when this process ends.

    Args:
        folder: Where to create the folder with the programs.

    Attributes:
        executable: Replaces `sys.executable`. The `allennlp` next to it starts warm too.
    """

    def __init__(self, folder):
        self.executable = folder / "warm" / "python"
        self.executable.parent.mkdir()
        allennlp = Path(sys.executable).with_name("allennlp")
        for name, arguments in {"python": [], "allennlp": [str(allennlp)]}.items():
            program = self.executable.with_name(name)
            program.write_text(
                f"#!{sys.executable} -IS\n"
                "import runpy, sys\n"
                f"sys.argv[:1] = {[__file__, 'ask', str(self.executable), *arguments]}\n"
                f"runpy.run_path({__file__!r}, run_name='__main__')\n"
            )
            program.chmod(0o755)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.executable.with_name("socket")))
            listener.listen(64)
            self._server = subprocess.Popen(
                [sys.executable, __file__, "serve", str(listener.fileno())],
                env={name: os.environ[name] for name in os.environ if name != "TRITON_INTERPRET"},
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )

    def close(self):
        """Ends the server and all processes that it has started."""
        self._server.communicate()


def ask(executable, *arguments):
    """Runs `python *arguments`, in a process of the server if possible."""
    warm = without_harmless_options(list(arguments))
    if warm:
        files = inherited_files()
        connection = socket.socket(socket.AF_UNIX)
        if connection.connect_ex(str(Path(executable).with_name("socket"))) == 0:
            request = {
                "executable": executable,
                "arguments": warm,
                "folder": str(Path.cwd()),
                "environment": dict(os.environ),
                "files": files,
            }
            socket.send_fds(connection, [b" "], files)
            connection.sendall(json.dumps(request).encode() + b"\n")
            replies = connection.makefile()
            process = int(replies.readline() or 0)
            if process:
                for number in FORWARDED_SIGNALS:
                    signal.signal(number, lambda number, _: os.kill(process, number))
                end_with(int(replies.readline()))
    os.execv(sys.executable, [sys.executable, *arguments])


def without_harmless_options(arguments):
    """The arguments without `-B` and `-u`, which the environment sets for all; None if others remain."""
    while arguments and arguments[0] in ("-B", "-u"):
        arguments = arguments[1:]
    is_understood = arguments and (arguments[0] in ("-c", "-m") or arguments[0][0] != "-")
    return arguments if is_understood else None


def inherited_files():
    files = []
    for file in map(int, os.listdir("/dev/fd")):
        try:
            fcntl.fcntl(file, fcntl.F_GETFD)
        except OSError:  # the list itself
            continue
        files.append(file)
    return files


def end_with(status):
    """Ends this process as another has ended, of which `os.wait` tells this."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in FORWARDED_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def serve(listener):
    """Forks a process per request and returns the request there. Ends when its standard input does."""
    gc.disable()
    # Folders of tests are named like libraries.
    own, sys.path[0] = sys.path[0], os.devnull
    for name in LIBRARIES:
        importlib.import_module(name)
    sys.path[0] = own
    gc.freeze()
    gc.enable()
    ended, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    callers = {}

    while True:
        ready, _, _ = select.select([listener, ended, sys.stdin, *callers.values()], [], [])
        if ended in ready:
            os.read(ended, 1_000)
            report_ended_processes(callers)
        for process, caller in callers.items():
            if caller in ready:  # it is dead
                os.kill(process, signal.SIGKILL)
        if sys.stdin in ready:
            # Also the servers that `multiprocessing` has started, which would wait for ever.
            os.killpg(0, signal.SIGKILL)
        if listener in ready:
            request = answer(listener, callers, [ended, wakeup])
            if request:  # this is the new process
                return request


def answer(listener, callers, pipe):
    """Forks a process for a request; returns the request there, `None` here."""
    caller, _ = listener.accept()
    _, files, _, _ = socket.recv_fds(caller, 1, MAX_FILES)
    request = json.loads(caller.makefile().readline())
    process = os.fork() if has_equal_start(request["environment"]) else -1
    if process == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (listener, caller, *callers.values()):
            each.close()
        for file in pipe:
            os.close(file)
        take_files(files, request["files"])
        return request
    for file in files:
        os.close(file)
    if process > 0:
        with contextlib.suppress(OSError):  # a dead caller; its process is killed next
            caller.sendall(f"{process}\n".encode())
        callers[process] = caller
    else:
        caller.close()
    return None


def report_ended_processes(callers):
    while callers:
        process, status = os.waitpid(-1, os.WNOHANG)
        if not process:
            break
        with callers.pop(process) as caller, contextlib.suppress(OSError):
            caller.sendall(f"{status}\n".encode())


def has_equal_start(environment):
    """Whether a process with this environment would start as the server did."""

    def settings(environment):
        return {
            name: environment[name]
            for name in environment
            if name.startswith(STARTUP_VARIABLES) and name != "PYTHONPATH"
        }

    return settings(environment) == settings(os.environ)


def take_files(files, numbers):
    """Gives open files the numbers that they have in the calling process."""
    free = max(files + numbers) + 1
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD, free) for file in files]
    for file in files:
        os.close(file)
    for copy, number in zip(copies, numbers):
        os.dup2(copy, number)
        os.close(copy)
    for name, number in {"stdin": 0, "stdout": 1, "stderr": 2}.items():
        setattr(sys, name, renewed(getattr(sys, name), number))


def renewed(stream, number):
    """Reopens a standard stream, because the old one remembers whether its file was seekable."""
    file = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedReader(file) if number == 0 else io.BufferedWriter(file),
        stream.encoding,
        stream.errors,
        line_buffering=number == 2 or file.isatty(),
        write_through=stream.write_through,
    )


def run(request):
    """Runs a request in this process."""
    environment = request["environment"]
    os.chdir(request["folder"])
    num_folders = len(python_path(os.environ))
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Processes started by this one start warm too.
    sys.executable = request["executable"]
    multiprocessing.set_executable(sys.executable)
    what, *rest = request["arguments"]
    folders = {"-c": "", "-m": str(Path.cwd())}
    first = folders.get(what, str(Path(what).resolve().parent))
    sys.path[: 1 + num_folders] = [first, *python_path(environment)]
    if what == "-c":
        code, *sys.argv[1:] = rest
        sys.argv[0] = "-c"
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(code, vars(main))
    elif what == "-m":
        module, *sys.argv[1:] = rest
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = request["arguments"]
        runpy.run_path(what, run_name="__main__")


def python_path(environment):
    path = environment.get("PYTHONPATH")
    return path.split(os.pathsep) if path else []


def end(error):
    """Ends this process without the slow clean-up of the libraries."""
    status = 0
    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if status and status != error.code:
            print(error.code, file=sys.stderr)
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(error, KeyboardInterrupt):
        end_with(signal.SIGINT)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    command, argument, *rest = sys.argv[1:]
    if command == "ask":
        ask(argument, *rest)
    else:
        request = serve(socket.socket(fileno=int(argument)))
        try:
            run(request)
        except BaseException as error:
            end(error)
        end(None)
