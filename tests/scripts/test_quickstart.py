"""The quick start, with stand-ins for what it runs: they say what they are called with."""

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


@pytest.fixture
def project(tmp_path):
    """A project of stand-ins around the script."""
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
    return tmp_path


@pytest.fixture
def run_folder(project):
    return project / "runs/us_addresses"


@pytest.fixture
def start(project, run_folder):
    """Runs the script; gives what it called and printed."""

    def start(*arguments, succeeds=True, **environment):
        (project / "calls").unlink(missing_ok=True)
        done = subprocess.run(
            [project / "scripts/quickstart.sh", *arguments],
            env={**os.environ, "RUN": str(run_folder), **environment},
            capture_output=True,
            text=True,
        )
        assert (done.returncode == 0) == succeeds, done.stderr
        calls = (project / "calls").read_text().splitlines() if (project / "calls").exists() else []
        return [call.split() for call in calls], done.stdout + done.stderr

    return start


def commands(calls):
    return [call[0] if call[0] != "train" else f"train {call[-1]}" for call in calls]


def test_a_trained_model_is_neither_trained_nor_evaluated_again(start):
    calls, printed = start()
    assert commands(calls) == ["train --force", "evaluate", "tag"]
    assert "of the trained model" in printed
    # How to go on comes last, once.
    assert printed.replace("a warning\n", "").endswith("command ==\nsource .venv/bin/activate\n")
    calls, printed = start()
    assert commands(calls) == ["tag"]
    assert "activate" not in printed


def test_the_second_call_prints_the_answer_alone(start):
    start()
    _calls, printed = start("12 Elm Street, Salem")
    assert printed == "the entities of 12 Elm Street, Salem\n"


def test_training_prints_the_first_and_the_last_epoch_and_its_warnings(start):
    lines = start()[1].splitlines()
    assert lines[1] == "epoch 1 of 3: training loss 0.1"
    assert lines[2] == "epoch 3 of 3: training loss 0.3"
    assert lines[3] == "== Metrics on the text of the test addresses =="
    assert lines[-1] == "a warning"
    assert not [line for line in lines if line == "spans"]


def test_an_interrupted_training_goes_on_though_it_left_an_archive(start, run_folder):
    for name in ("config.json", "training_state_e6_b0.th", "model.tar.gz", "test_metrics.json"):
        (run_folder / name).write_text("interrupted")
    calls, printed = start()
    assert commands(calls) == ["train --recover", "evaluate", "tag"]
    assert "of the trained model" in printed


def test_a_run_without_a_checkpoint_starts_again(start, run_folder):
    (run_folder / "config.json").write_text('{"cut off')
    assert commands(start()[0]) == ["train --force", "evaluate", "tag"]


def test_an_archive_older_than_the_metrics_is_made_again(start, run_folder):
    for name in ("config.json", "training_state_e6_b0.th", "model.tar.gz"):
        (run_folder / name).write_text("interrupted")
    calls, printed = start(succeeds=False, NEXT_TRAINING="is_killed_while_archiving")
    assert commands(calls) == ["train --recover"]
    calls, printed = start()
    assert commands(calls) == ["train --recover", "evaluate", "tag"]
    assert "of the trained model" in printed


def test_metrics_of_an_evaluation_that_was_killed_are_not_shown(start):
    calls, printed = start(succeeds=False, NEXT_EVALUATION="is_killed")
    assert "half" not in printed
    calls, printed = start()
    assert commands(calls) == ["evaluate", "tag"]
    assert "of the trained model" in printed


def test_a_training_that_fails_says_what_to_do(start):
    _calls, printed = start(succeeds=False, NEXT_TRAINING="fails")
    assert "repeat the command to continue, or delete runs/us_addresses to start again" in printed
