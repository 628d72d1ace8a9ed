"""A process that starts warm does what any other does, but sooner."""

import os
import signal
import subprocess
import sys
import time

import pytest

REPORT = """
import json, os, sys
variables = [os.environ.get(name) for name in ("PYTHONPATH", "ANSWER")]
print(json.dumps([__name__, sys.argv, sys.path, os.getcwd(), variables, sys.stdin.read()]))
"""
IS_WARM = "import sys; print('transformers' in sys.modules)"
SLEEP = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


@pytest.fixture
def run_both(request):
    """Runs `python *arguments` with the real interpreter, then warm."""

    def run_both(*arguments, **kwargs):
        def run():
            done = subprocess.run(
                [sys.executable, *arguments], capture_output=True, text=True, **kwargs
            )
            return done.returncode, done.stdout, done.stderr

        cold = run()
        request.getfixturevalue("warm_python")
        return cold, run()

    return run_both


def output_of(*arguments, **kwargs):
    return subprocess.check_output([sys.executable, *arguments], text=True, **kwargs).strip()


def exists(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "what", [["-c", REPORT], ["-m", "report"], ["report.py"]], ids=lambda what: what[0]
)
def test_arguments_folder_environment_and_input_are_the_callers(what, run_both, tmp_path):
    (tmp_path / "report.py").write_text(REPORT)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}/a:{tmp_path}/b", "ANSWER": "42"}
    cold, warm = run_both(*what, "x", "-y", cwd=tmp_path, env=environment, input="read")
    assert warm == cold
    assert '"42"' in warm[1]


@pytest.mark.parametrize(
    "code", ["", "import sys; sys.exit(7)", "import sys; sys.exit('no')", "import os; os.abort()"]
)
def test_it_ends_as_it_would_otherwise(code, run_both):
    cold, warm = run_both("-c", code)
    assert warm == cold


def test_an_error_is_reported_and_what_is_registered_is_called(run_both):
    code = "import atexit; atexit.register(print, 'end'); print('start'); 1 / 0"
    cold, warm = run_both("-c", code)
    assert warm[:2] == cold[:2] == (1, "start\nend\n")
    assert warm[2].splitlines()[-1] == cold[2].splitlines()[-1]


def test_open_files_keep_their_numbers(warm_python):
    pipes = [os.pipe() for _ in range(3)]
    writers = [writer for _, writer in pipes]
    code = "import os, sys\nfor number in sys.argv[1:]: os.write(int(number), number.encode())"
    output_of("-c", code, *map(str, writers), pass_fds=writers)
    assert [os.read(reader, 9) for reader, _ in pipes] == [str(each).encode() for each in writers]
    for pipe in pipes:
        for end in pipe:
            os.close(end)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_reach_it(number, warm_python):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", SLEEP], **streams) as caller:
        process = int(caller.stdout.readline())
        caller.send_signal(number)
    deadline = time.monotonic() + 10
    while exists(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not exists(process)
    assert caller.returncode == -number


def test_what_starts_otherwise_is_left_to_the_interpreter(warm_python):
    assert output_of("-c", IS_WARM) == "True"
    assert output_of("-X", "utf8", "-c", IS_WARM) == "False"
    assert output_of("-c", IS_WARM, env={**os.environ, "OMP_NUM_THREADS": "3"}) == "False"


def test_what_it_starts_is_warm_too(warm_python):
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    assert output_of("-c", code, IS_WARM) == "True"
