"""A Python that starts with libraries already loaded, for tests that need separate processes.

It takes seconds to import AllenNLP's libraries. A server imports them once and forks a process for each
call. It imports neither AllenNLP nor this project: every process still does that by itself.
"""

import atexit
import contextlib
import gc
import importlib
import json
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
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
MAX_FILES = 250


@contextlib.contextmanager
def started(folder):
    """Starts the server, which ends with this context or process, together with all that it forked.

    Yields a replacement for `sys.executable`, with a warm `allennlp` next to it. It passes arguments,
    folder, environment, open files and signals to a forked process, and ends as that process does. If
    its first argument is an option, or if libraries would start differently in its environment than in
    the server's, it is the real interpreter.
    """
    python = folder / "warm" / "python"
    python.parent.mkdir()
    left_out = {"PYTHONPATH", "TRITON_INTERPRET"}
    environment = {name: os.environ[name] for name in os.environ.keys() - left_out}
    allennlp = str(Path(sys.executable).with_name("allennlp"))
    for name, first in {"python": [], "allennlp": [allennlp]}.items():
        program = python.with_name(name)
        program.write_text(
            f"#!{sys.executable} -IS\nimport runpy, sys\nask = runpy.run_path({__file__!r})['ask']\n"
            f"ask({str(python)!r}, {settings(environment)}, [*{first}, *sys.argv[1:]])\n"
        )
        program.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(python.with_name("socket")))
        listener.listen(64)
        server = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno())],
            env=environment,
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    with server:
        yield str(python)


def settings(environment):
    """The variables that the interpreter or a library reads when it starts."""
    names = {name for name in environment if name.startswith(("PYTHON", "OMP_", "TRITON_"))}
    return {name: environment[name] for name in sorted(names - {"PYTHONPATH", "PYTHONUNBUFFERED"})}


def ask(python, at_start, arguments):
    """Runs `python *arguments`, in a process of the server if possible."""
    files = [number for number in range(MAX_FILES) if Path(f"/dev/fd/{number}").exists()]
    # `multiprocessing` repeats an option that the environment already sets.
    if arguments[0] == "-B":
        del arguments[0]
    # Ray gives other options, such as `-u`.
    is_option = arguments[0].startswith("-") and arguments[0] not in ("-c", "-m", "-")
    if settings(os.environ) == at_start and not is_option:
        request = [python, arguments, str(Path.cwd()), dict(os.environ), files]
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(Path(python).with_name("socket")))
        socket.send_fds(server, [b" "], files)
        server.sendall(json.dumps(request).encode() + b"\n")
        for number in SIGNALS:
            signal.signal(number, lambda number, _: server.send(bytes([number])))
        # It is empty if the server has ended, as it does after the last test.
        status = int(server.recv(9) or sys.exit("the server of warm Python has ended"))
        if -status in SIGNALS:
            signal.signal(-status, signal.SIG_DFL)
        if status < 0:
            os.kill(os.getpid(), -status)
        os._exit(status)
    os.execv(sys.executable, [sys.executable, *arguments])


def serve(listener):
    """Returns each request in a separate process, until standard input ends."""
    gc.disable()
    del sys.path[0]  # folders of tests are named like libraries
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended processes leave nothing behind
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        caller, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return answer(caller)
        caller.close()
    # Also the servers that `multiprocessing` has started, which would wait for ever.
    return os.killpg(0, signal.SIGKILL)


def answer(caller):
    """Forks a process that returns the request. Passes signals to it, and its status to the caller."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    messages = caller.makefile("rb")
    _, files, _, _ = socket.recv_fds(caller, 1, MAX_FILES)
    *request, numbers = json.loads(messages.readline())
    process = os.fork()
    if process == 0:
        messages.close()
        caller.close()
        take_files(files, numbers)
        return request

    def pass_signals():
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            while number := messages.read(1):
                os.kill(process, number[0])
            os.kill(process, signal.SIGKILL)  # the caller is dead

    threading.Thread(target=pass_signals, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with contextlib.suppress(OSError):
        caller.sendall(str(status).encode())
    os._exit(0)


def take_files(files, numbers):
    """Gives open files the numbers that they have in the calling process."""
    free = max(files + numbers) + 1
    for place, file in enumerate(files, free):
        os.dup2(file, place)
        os.close(file)
    for place, number in enumerate(numbers, free):
        os.dup2(place, number)
        os.close(place)
    # The old streams remember whether their files were seekable.
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old, buffering = getattr(sys, name), 1 if number == 2 else -1
        new = os.fdopen(number, old.mode, buffering, old.encoding, old.errors, closefd=False)
        setattr(sys, name, new)


def run(python, arguments, folder, environment):
    """Runs a request in this process."""
    import multiprocessing  # which every call would wait for

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdout.reconfigure(write_through=bool(environment.get("PYTHONUNBUFFERED")))
    # Processes started by this one start warm too.
    sys.executable = python
    multiprocessing.set_executable(python)
    what, *rest = arguments
    first = {"-c": "", "-m": folder}.get(what, str(Path(what).resolve().parent))
    sys.path[:0] = [first, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = arguments if what not in ("-c", "-m") else [what, *rest[1:]]
    if what in ("-c", "-"):
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(rest[0] if what == "-c" else sys.stdin.read(), vars(main))
    elif what == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(what, run_name="__main__")


def end(error):
    """Ends this process as the interpreter would, without the slow clean-up of the libraries."""
    status = error.code if isinstance(error, SystemExit) else int(error is not None)
    if not isinstance(status, (int, type(None))):
        print(status, file=sys.stderr)
        status = 1
    elif error and not isinstance(error, SystemExit):
        sys.excepthook(type(error), error, error.__traceback__)
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit((status or 0) & 0xFF)


if __name__ == "__main__":
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        run(*request)
    except BaseException as error:
        end(error)
    end(None)
