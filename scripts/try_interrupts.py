"""Kills and interrupts training and `predict-file` at many moments, repeats them, and compares.

    python scripts/try_interrupts.py                               12 of training, 6 of predict-file
    python scripts/try_interrupts.py --training 30 --predict-file 20 --seed 7

An unbroken run of the toy config comes first. Each other run gets a signal (SIGINT, SIGTERM or
SIGKILL) at some moment, goes on with `--recover`, and must end with the same metrics, but for times and
memory, and with the same weights in its archive. `predict-file` is repeated, and must write the same
bytes. The script prints a line for each, and fails if one differs, or if a file that was there before
is gone or changed.
"""

import argparse
import json
import random
import shutil
import signal
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from scripts.forked_command import ForkedCommand, Outcome, digests, run_command, without_settings

ROOT = Path(__file__).parent.parent
TRAIN = ["train", "training_config/toy_bilstm_crf.jsonnet", "-s"]
#: How many lines `predict-file` reads at a time.
WINDOW = 128
PREDICT = ["predict-file", "model.tar.gz", "texts.txt", "--window", str(WINDOW), "-o"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
#: What depends on time and on the machine.
VARYING = ("duration", "memory", "_speed")
#: Of the toy config.
NUM_EPOCHS = 15


class Moment(NamedTuple):
    """When a signal is sent.

    Attributes:
        title: What has just happened then.
        has_come: Whether it has, by the folder that the command writes.
        delay: How many seconds later the signal is sent.
    """

    title: str
    has_come: Callable[[Path], bool]
    delay: float = 0.0


def when(title: str, pattern: str) -> Moment:
    """When a file whose name fits a pattern appears in the folder."""
    return Moment(title, lambda path: any(path.glob(pattern)))


#: The moments of training at which a mistake would do most.
OF_TRAINING = (
    when("at the first checkpoint", "training_state_e1_b0.th*"),
    when("while a checkpoint is written", "*.th.*.unfinished"),
    when("at the last epoch's metrics", "metrics_epoch_14.json"),
    when("at the last checkpoint", "training_state_e15_b0.th"),
    when("when the metrics are written", "metrics.json"),
    when("while the archive is made", "model.tar.gz.*.unfinished"),
)


def moments_of_training(seconds: float, number: int, seed: int) -> Iterator[Moment]:
    """Yields the moments above, and then random ones.

    Args:
        seconds: How long an unbroken run takes.
        number: How many moments there are in all.
        seed: Of the random moments.
    """
    generator = random.Random(seed)
    yield from OF_TRAINING[:number]
    for _ in range(number - len(OF_TRAINING)):
        epoch, delay = (
            generator.randrange(NUM_EPOCHS - 1),
            generator.uniform(0, seconds / NUM_EPOCHS / 4),
        )
        has_come = when("", f"metrics_epoch_{epoch}.json").has_come
        yield Moment(f"{delay:.2f} s after epoch {epoch + 1}", has_come, delay)


def moments_of_prediction(number: int, num_windows: int, seed: int) -> Iterator[Moment]:
    """Yields random moments of `predict-file`, by the number of windows that it has written."""
    generator = random.Random(seed)
    for _ in range(number):
        windows, delay = generator.randrange(num_windows), generator.uniform(0, 0.05)

        def has_come(folder: Path, windows: int = windows) -> bool:
            record = folder / ".out.jsonl.predict-file"
            return record.exists() and record.read_bytes().count(b'{"window"') >= windows

        yield Moment(f"{delay:.2f} s after window {windows} of {num_windows}", has_come, delay)


def break_off(
    arguments: Sequence[str], folder: Path, path: Path, moment: Moment, number: signal.Signals
) -> Outcome:
    """Starts a command and sends it a signal at a moment; a command that ends before gets none."""
    command = ForkedCommand(arguments, folder)
    while not command.has_ended():
        if moment.has_come(path):
            time.sleep(moment.delay)
            if not command.has_ended():
                command.send(number)
            break
        time.sleep(0.001)
    return command.wait()


def results(run: Path) -> Tuple[Dict[str, Any], Dict[str, torch.Tensor]]:
    """The metrics of a run that do not vary, and the weights in its archive."""
    metrics = json.loads((run / "metrics.json").read_text())
    kept = {k: v for k, v in metrics.items() if not any(word in k for word in VARYING)}
    with tarfile.open(run / "model.tar.gz") as archive:
        file = archive.extractfile("weights.th")
        assert file is not None
        weights = torch.load(file)
    return kept, weights


def differences(run: Path, unbroken: Path) -> List[str]:
    """Says in what the results of two runs differ."""
    (metrics, weights), (expected, of_unbroken) = results(run), results(unbroken)
    names = [n for n in metrics.keys() | expected.keys() if metrics.get(n) != expected.get(n)]
    found = [f"metrics differ: {', '.join(sorted(names))}"] if names else []
    if weights.keys() != of_unbroken.keys() or not all(
        torch.equal(weights[name], of_unbroken[name]) for name in weights
    ):
        found.append("weights differ")
    found += [f"{path.name} is left" for path in run.glob("*.unfinished")]
    return found


def try_training(folder: Path, moment: Moment, number: signal.Signals) -> Tuple[str, List[str]]:
    """Breaks off a training run and recovers it.

    Returns:
        How the broken run ended, and what is wrong with the recovered one.
    """
    run = folder / "run"
    broken = break_off([*TRAIN, "run"], folder, run, moment, number)
    done = len(list(run.glob("metrics_epoch_*.json")))
    # Without a config there is nothing to recover.
    option = "--recover" if (run / "config.json").exists() else "--force"
    outcome = run_command([*TRAIN, "run", option], folder)
    problems = [] if outcome.status == 0 else [f"{option} fails: {outcome.last_line}"]
    if not problems:
        problems = differences(run, folder / "unbroken")
    shutil.rmtree(run, ignore_errors=True)
    return f"status {broken.status}, {done} epochs done; {option}", problems


def try_predict_file(folder: Path, moment: Moment, number: signal.Signals) -> Tuple[str, List[str]]:
    """Breaks off `predict-file` and repeats it.

    Returns:
        How the broken run ended, and what is wrong with the repeated one.
    """
    output = folder / "out.jsonl"
    broken = break_off([*PREDICT, output.name], folder, folder, moment, number)
    problems = []
    # An output that is there must be whole: the signal came when the process was about to end.
    if not output.exists():
        outcome = run_command([*PREDICT, output.name], folder)
        kept = next((line for line in outcome.output if line.startswith("Kept")), "")
        if outcome.status:
            problems.append(f"the repeat fails: {outcome.last_line}")
    else:
        kept = "it had ended"
    if output.exists() and output.read_bytes() != (folder / "unbroken.jsonl").read_bytes():
        problems.append("the bytes differ")
    problems += [f"{path.name} is left" for path in folder.glob(".out.jsonl*")]
    output.unlink(missing_ok=True)
    return f"status {broken.status}; {kept.partition(';')[0]}", problems


def timed(arguments: Sequence[str], folder: Path) -> float:
    """Runs a command that must work, and returns its seconds."""
    started = time.monotonic()
    outcome = run_command(arguments, folder)
    if outcome.status:
        raise RuntimeError(outcome.last_line)
    return time.monotonic() - started


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--training", type=int, default=12, help="how many runs to train")
    parser.add_argument("--predict-file", type=int, default=6, help="how many runs of predict-file")
    parser.add_argument("--lines", type=int, default=3000, help="how many lines predict-file gets")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    args = parser.parse_args(arguments)
    failures = 0
    with tempfile.TemporaryDirectory() as name, without_settings():
        folder = Path(name)
        for part in ("training_config", "data/toy"):
            shutil.copytree(ROOT / part, folder / part)
        seconds = timed([*TRAIN, "unbroken"], folder)
        shutil.copy(folder / "unbroken/model.tar.gz", folder)
        lines = [f"Maria Lindqvist met {number} in Lisbon.\n" for number in range(args.lines)]
        (folder / "texts.txt").write_text("".join(lines))
        timed([*PREDICT, "unbroken.jsonl"], folder)
        num_windows = -(-args.lines // WINDOW)
        before = digests(folder)
        trials: List[Tuple[str, Callable[..., Tuple[str, List[str]]], Moment]] = [
            *(
                ("train", try_training, moment)
                for moment in moments_of_training(seconds, args.training, args.seed)
            ),
            *(
                ("predict-file", try_predict_file, moment)
                for moment in moments_of_prediction(args.predict_file, num_windows, args.seed)
            ),
        ]
        for index, (title, attempt, moment) in enumerate(trials):
            number = SIGNALS[index % len(SIGNALS)]
            ended, problems = attempt(folder, moment, number)
            if digests(folder) != before:
                problems.append("a file that was there is gone or changed, or one is left")
            failures += bool(problems)
            verdict = f"WRONG: {'; '.join(problems)}" if problems else "as unbroken"
            print(f"{title}, {number.name} {moment.title}: {ended}: {verdict}", flush=True)
    if failures:
        sys.exit(f"{failures} of {len(trials)} went wrong")


if __name__ == "__main__":
    main()
