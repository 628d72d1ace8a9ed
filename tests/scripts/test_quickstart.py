"""The quick start, run with stand-ins that record their arguments."""

import os
import shutil
import subprocess

import pytest

from tests.conftest import ROOT

ALLENNLP = """#!/usr/bin/env bash
[ $1 != show-scores ] || exec cat "$2"
echo "$*" >> calls
case $1 in
train)
  case $NEXT_TRAINING in
  fails) exit 1 ;;
  is_killed_while_archiving) echo "{}" > $RUN/metrics.json; exit 137 ;;
  esac
  mkdir -p $RUN
  touch $RUN/config.json $RUN/training_state_e9_b0.th
  echo "{}" > $RUN/metrics.json
  sleep 0.01
  echo trained > $RUN/model.tar.gz
  for n in 1 2 3; do echo "epoch $n of 3: training loss 0.$n"; done
  echo "a warning" >&2
  printf '\nMetrics on ...\nspans\n'
  ;;
evaluate)
  while [ "$1" != --output-file ]; do shift; done
  echo half > "$2"
  [ "$NEXT_EVALUATION" != is_killed ] || exit 137
  echo "of the $(cat $RUN/model.tar.gz) model" > "$2"
  ;;
esac
"""
PYTHON = """#!/usr/bin/env bash
case $1 in
-)
  echo "tag ${*:3}" >> calls
  cat > /dev/null
  echo "the entities of ${*:3}"
  ;;
esac
"""


CHECKPOINT = ("config.json", "training_state_e6_b0.th", "model.tar.gz")


@pytest.fixture
def run_folder(tmp_path):
    """The folder of a run in a project with the script and stand-ins."""
    for folder in ("scripts", ".venv/bin", "runs/us_addresses"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts/quickstart.sh", tmp_path / "scripts")
    programs = {
        "scripts/install.sh": "#!/bin/sh\necho it is up to date\n",
        ".venv/bin/allennlp": ALLENNLP,
        ".venv/bin/python": PYTHON,
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path / "runs/us_addresses"


@pytest.fixture
def start(tmp_path, run_folder):
    """Runs the script. Returns its calls and its output."""

    def start(*arguments, succeeds=True, **environment):
        (tmp_path / "calls").write_text("")
        done = subprocess.run(
            [tmp_path / "scripts/quickstart.sh", *arguments],
            env={**os.environ, "RUN": str(run_folder), **environment},
            capture_output=True,
            text=True,
        )
        assert (done.returncode == 0) == succeeds, done.stderr
        calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
        names = [f"train {call[-1]}" if call[0] == "train" else call[0] for call in calls]
        return names, done.stdout + done.stderr

    return start


def test_a_trained_model_is_neither_trained_nor_evaluated_again(start):
    calls, printed = start()
    assert calls == ["train --force", "evaluate", "tag"]
    assert "of the trained model" in printed
    # The next steps are printed last, and once.
    assert printed.replace("a warning\n", "").endswith("command ==\nsource .venv/bin/activate\n")
    # The first and the last epoch, and warnings, are shown.
    _, first, last, title, *_, warning = printed.splitlines()
    assert (first, last) == tuple(f"epoch {n} of 3: training loss 0.{n}" for n in (1, 3))
    assert title == "== Metrics on the text of the test addresses =="
    assert warning == "a warning"
    assert "spans" not in printed.splitlines()
    calls, printed = start()
    assert calls == ["tag"]
    assert "activate" not in printed
    _, printed = start("12 Elm Street, Salem")
    assert printed == "the entities of 12 Elm Street, Salem\n"


@pytest.mark.parametrize(
    ("files", "failure", "tried", "said", "next_calls"),
    [
        ([*CHECKPOINT, "test_metrics.json"], {}, [], "", ["train --recover", "evaluate", "tag"]),
        (["config.json"], {}, [], "", ["train --force", "evaluate", "tag"]),
        (
            CHECKPOINT,
            {"NEXT_TRAINING": "is_killed_while_archiving"},
            ["train --recover"],
            "",
            ["train --recover", "evaluate", "tag"],
        ),
        (
            [],
            {"NEXT_EVALUATION": "is_killed"},
            ["train --force", "evaluate"],
            "",
            ["evaluate", "tag"],
        ),
        (
            [],
            {"NEXT_TRAINING": "fails"},
            ["train --force"],
            "repeat the command to continue, or delete runs/us_addresses to start again",
            ["train --force", "evaluate", "tag"],
        ),
    ],
)
def test_an_interrupted_quick_start_continues(
    files, failure, tried, said, next_calls, start, run_folder
):
    for name in files:
        (run_folder / name).write_text("interrupted")
    if failure:
        calls, printed = start(succeeds=False, **failure)
        assert calls == tried
        assert "half" not in printed
        assert said in printed
    calls, printed = start()
    assert calls == next_calls
    assert "of the trained model" in printed
