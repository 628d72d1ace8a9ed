"""Interrupts training and `predict-file` at a chosen moment, repeats them, and reports differences.

A recovered run must end with the same archive as an uninterrupted one, byte for byte, and with the same
metrics apart from times and memory. A repeated `predict-file` must write the same bytes. All other files
must be unchanged.
"""

import json
import random
import shutil
import signal
import time
from typing import Callable, NamedTuple

from tagger.common.files import sha256_of_file
from tagger.training.run_folder import TEXT_METRICS_FILE
from tests.allennlp_command import RunningCommand, digests, run_command
from tests.conftest import ROOT
from tests.system.archives import of_file

#: The number of epochs of the toy config.
NUM_EPOCHS = 25
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
#: The exit status after each signal.
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
#: Parts of the names of metrics that depend on the time and the machine.
_VARYING = ("duration", "memory", "_speed")


class Moment(NamedTuple):
    """When a signal is sent.

    Attributes:
        title: What has just happened.
        has_come: Tells from the command's output folder whether it has happened.
        delay: How many seconds to wait before sending the signal.
    """

    title: str
    has_come: Callable
    delay: float = 0.0


def _swapped(content):
    *others, one, other = content.splitlines()
    return b"".join(line + b"\n" for line in (*others, other, one))


#: Swaps the last two tags of a vocabulary, for `write_archive`.
with_swapped_labels = of_file("vocabulary/labels.txt", _swapped)


def without_checksums_and_with_swapped_labels(name, content):
    """The same for an archive written by AllenNLP itself."""
    if name == "meta.json":
        return json.dumps({"version": json.loads(content)["version"]}).encode()
    return with_swapped_labels(name, content)


def _when(title, pattern, delay=0.0):
    """The moment at which a file with a name like `pattern` appears in the folder."""
    return Moment(title, lambda path: any(path.glob(pattern)), delay)


def moments_of_training(num_epochs):
    """The moments of training at which a mistake would do the most damage."""
    return [
        _when("at the first checkpoint", "training_state_e1_b0.th*"),
        _when("while a checkpoint is written", "*.th.*.unfinished"),
        _when("at the last epoch's metrics", f"metrics_epoch_{num_epochs - 1}.json"),
        _when("at the last checkpoint", f"training_state_e{num_epochs}_b0.th"),
        _when("when the metrics are written", "metrics.json"),
        _when("while the archive is made", "model.tar.gz.*.unfinished"),
        _when("while the tagger is measured on text", "model.tar.gz"),
    ]


def random_moments_of_training(number, num_epochs):
    """Yields moments within epochs."""
    draw = random.Random(0)
    for _ in range(number):
        epoch, delay = draw.randrange(num_epochs - 1), draw.uniform(0, 0.3)
        title = f"{delay:.2f} s after epoch {epoch + 1}"
        yield _when(title, f"metrics_epoch_{epoch}.json", delay)


def moments_of_prediction(number, num_windows):
    """Yields random moments of `predict-file` by the number of windows written."""
    draw = random.Random(0)
    for _ in range(number):
        windows, delay = draw.randrange(num_windows), draw.uniform(0, 0.05)

        def has_come(folder, windows=windows):
            parts = folder / ".out.jsonl.predict-file"
            return parts.exists() and len(list(parts.glob("0*"))) >= windows

        yield Moment(f"{delay:.2f} s after window {windows} of {num_windows}", has_come, delay)


def break_off(arguments, folder, path, moment, number):
    """Starts a command and sends it a signal at a moment, unless it ends before."""
    command = RunningCommand(arguments, folder)
    while not command.has_ended():
        if moment.has_come(path):
            time.sleep(moment.delay)
            command.send(number)
            break
        time.sleep(0.001)
    return command.wait()


def _metrics(run):
    """The metrics of a run that must be reproducible."""
    metrics = json.loads((run / "metrics.json").read_text())
    return {k: v for k, v in metrics.items() if not any(word in k for word in _VARYING)}


def _differences(run, unbroken):
    """Describes the differences between the results of two runs."""
    metrics, expected = _metrics(run), _metrics(unbroken)
    names = [n for n in metrics.keys() | expected.keys() if metrics.get(n) != expected.get(n)]
    found = [f"metrics differ: {', '.join(sorted(names))}"] if names else []
    if len({sha256_of_file(path / "model.tar.gz") for path in (run, unbroken)}) > 1:
        found.append("archives differ")
    on_text, expected = (path / TEXT_METRICS_FILE for path in (run, unbroken))
    if expected.exists() and not (on_text.exists() and on_text.read_text() == expected.read_text()):
        found.append("metrics on text differ")
    return found + [f"{path.name} is left" for path in run.glob("*.unfinished")]


def _changes(folder, before):
    is_same = digests(folder) == before
    return [] if is_same else ["a file that was there is gone or changed, or one is left"]


def break_training(train, folder, moment, number):
    """Interrupts a training run and recovers it.

    Args:
        train: The command, without the name of the run.
        folder: The working directory. Its folder `unbroken` holds an uninterrupted run.
        moment: When to send the signal.
        number: The signal.

    Returns:
        The exit status of the interrupted run and the problems of the recovered one.
    """
    run, before = folder / "run", digests(folder)
    broken = break_off([*train, "-s", "run"], folder, run, moment, number)
    # Without a config there is nothing to recover.
    option = "--recover" if (run / "config.json").exists() else "--force"
    outcome = run_command([*train, "-s", "run", option], folder)
    if outcome.status:
        problems = [f"{option} fails: {outcome.last_line}"]
    else:
        problems = _differences(run, folder / "unbroken")
    shutil.rmtree(run, ignore_errors=True)
    return broken.status, [*problems, *_changes(folder, before)]


def break_prediction(predict, folder, moment, number):
    """The same for `predict-file`. `unbroken.jsonl` is the output of an uninterrupted run."""
    output, before = folder / "out.jsonl", digests(folder)
    command = [*predict, "-o", output.name]
    broken = break_off(command, folder, folder, moment, number)
    problems = []
    # If there is an output, it must be complete, and the repeat removes what else is left.
    was_there = output.exists()
    outcome = run_command(command, folder)
    if outcome.status and not (was_there and "already exists" in outcome.last_line):
        problems.append(f"the repeat fails: {outcome.last_line}")
    if output.exists() and output.read_bytes() != (folder / "unbroken.jsonl").read_bytes():
        problems.append("the bytes differ")
    problems += [f"{path.name} is left" for path in folder.glob(".out.jsonl*")]
    output.unlink(missing_ok=True)
    return broken.status, [*problems, *_changes(folder, before)]


def copy_toy(folder):
    """Copies the inputs of a run of the toy config."""
    for part in ("training_config", "data/toy"):
        shutil.copytree(ROOT / part, folder / part)


def lines_of_texts(number):
    return "".join(f"Maria Lindqvist met {each} in Lisbon.\n" for each in range(number))
