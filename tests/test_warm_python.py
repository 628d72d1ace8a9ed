"""A process behind the warm Python ends, reads and writes as it would behind the real one."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT

ENDS = {
    "success": ("print(input())", 0, "given\n", ""),
    "status": ("import sys; sys.exit(3)", 3, "", ""),
    "message": ("import sys; print(1); sys.exit('bad')", 1, "1\n", "bad\n"),
    "exception": ("1 / 0", 1, "", "ZeroDivisionError: division by zero\n"),
    "at exit": ("import atexit; atexit.register(print, 'end')", 0, "end\n", ""),
    "crash": ("import os; os.abort()", -signal.SIGABRT, "", ""),
    "kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "", ""),
    "interrupt": ("raise KeyboardInterrupt", -signal.SIGINT, "", "KeyboardInterrupt\n"),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_call_ends_as_its_process(case, warm_python, tmp_path):
    code, status, out, err = ENDS[case]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, input="given\n"
    )
    assert (done.returncode, done.stdout) == (status, out)
    assert done.stderr.endswith(err)
    assert bool(done.stderr) == bool(err)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_reaches_the_process(number, warm_python):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(100)"
    command = [sys.executable, "-c", code]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **streams) as asking:
        process = int(asking.stdout.readline())
        asking.send_signal(number)
        assert asking.wait(60) == -number
    with contextlib.suppress(ProcessLookupError):
        for _ in range(600):
            os.kill(process, 0)
            time.sleep(0.1)
        pytest.fail("the process still runs")


def test_a_call_is_warm_unless_libraries_would_start_differently(warm_python, monkeypatch):
    command = [sys.executable, "-c", "import sys; print('torch' in sys.modules)"]
    assert subprocess.check_output(command) == b"True\n"
    assert subprocess.check_output([command[0], "-u", *command[1:]]) == b"False\n"
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert subprocess.check_output(command) == b"False\n"


def test_a_call_has_the_folder_path_and_files_of_its_caller(warm_python, tmp_path):
    (tmp_path / "shown.py").write_text("import os, sys; os.write(int(sys.argv[1]), b'read')")
    reading, writing = os.pipe()
    for path, folder in (("", tmp_path), (str(tmp_path), ROOT)):
        subprocess.run(
            [sys.executable, "-m", "shown", str(writing)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            pass_fds=[writing],
            check=True,
        )
        assert os.read(reading, 9) == b"read"
    os.close(reading)
    os.close(writing)
