"""A comparison reports each side at its own best setting."""

import sys

import pytest

from scripts.experiments.benchmarks import limits, sides
from scripts.experiments.benchmarks.sides import Setting, Side

ONE, ACTIVE, PASSIVE = Setting(1, "PASSIVE"), Setting(2, "ACTIVE"), Setting(2, "PASSIVE")
SETTINGS = [ONE, ACTIVE, PASSIVE]


def fake(name, seconds_of_one, seconds_of_active, seconds_of_passive, log=None):
    """A side that takes the given seconds, by the setting that it finds in its environment."""
    code = f"""
import os
from scripts.experiments.benchmarks import sides
setting = os.environ["OMP_NUM_THREADS"], os.environ["OMP_WAIT_POLICY"]
{f"open({str(log)!r}, 'a').write({name!r} + ' ' + ' '.join(setting) + chr(10))" if log else ""}
seconds = {{
    ("1", "PASSIVE"): {seconds_of_one},
    ("2", "ACTIVE"): {seconds_of_active},
    ("2", "PASSIVE"): {seconds_of_passive},
}}[setting]
sides.report({{"loss": [2 * seconds, seconds, seconds]}}, {{"loss": os.environ["NUMBA_NUM_THREADS"]}})
"""
    return Side(name, [sys.executable, "-c", code])


def test_each_side_is_reported_at_its_best_setting():
    compared = [
        fake("faster with one thread", 0.1, 0.3, 0.4),
        fake("faster with ACTIVE", 0.9, 0.2, 0.7),
        fake("ours", 0.3, 0.2, 0.05),
    ]
    comparison = sides.compare(compared, 1, SETTINGS)
    best = {each.name: comparison.best(each.name, "loss") for each in compared}
    assert {name: (each.setting, each.median) for name, each in best.items()} == {
        "faster with one thread": (ONE, 0.1),
        "faster with ACTIVE": (ACTIVE, 0.2),
        "ours": (PASSIVE, 0.05),
    }
    assert [each.facts for each in best.values()] == ["1", "2", "2"]
    assert comparison.ratio("loss", "ours", "faster with one thread") == pytest.approx(2)
    assert comparison.ratio("loss", "ours", "faster with ACTIVE") == pytest.approx(4)
    printed = sides.table(comparison, [each.name for each in compared], "faster with one thread")
    assert "| loss | faster with one thread | 100 (100..200) | 1 thread | 1 |" in printed
    assert "| loss | ours | 50 (50..100) | 2 threads, PASSIVE | 2 |" in printed
    speeds = sides.table(comparison, ["faster with ACTIVE"], "ours", {"loss": 100})
    assert "| 500 (250..500) | 2 threads, ACTIVE | 0.25 |" in speeds


def test_sides_take_turns_and_hopeless_settings_run_once(tmp_path):
    log = tmp_path / "log"
    compared = [fake("a", 0.1, 0.3, 0.11, log), fake("b", 0.3, 0.1, 0.2, log)]
    comparison = sides.compare(compared, 2, SETTINGS)
    first = ["a 1 PASSIVE", "b 1 PASSIVE", "a 2 ACTIVE", "b 2 ACTIVE", "a 2 PASSIVE", "b 2 PASSIVE"]
    assert log.read_text().splitlines() == [*first, "a 1 PASSIVE", "b 2 ACTIVE", "a 2 PASSIVE"]
    assert comparison.best("a", "loss").seconds == [0.2, 0.1, 0.1] * 2


def test_a_side_that_fails_is_named_and_the_others_go_on():
    failing = Side("peer", [sys.executable, "-c", "raise ValueError('no such library')"])
    slow = Side("slow", [sys.executable, "-c", "import time; time.sleep(60)"])
    comparison = sides.compare([failing, fake("ours", 1, 1, 1)], 2, SETTINGS)
    assert comparison.failures == {"peer": "at 1 thread: ValueError: no such library"}
    assert comparison.best("peer", "loss") is None
    printed = sides.table(comparison, ["peer", "ours"], "peer")
    assert "| loss | peer | - |" in printed
    assert "peer failed at 1 thread: ValueError: no such library" in printed
    stopped = sides.compare([slow], 1, [ONE], limit=0.2)
    assert stopped.failures == {"slow": "at 1 thread: stopped after 0.2 seconds"}


def test_the_shapes_of_the_limit_are_those_of_the_lstm():
    num_words = limits.BATCH_SIZE * limits.NUM_TOKENS
    # Two layers with two directions, four gates, inputs and states; a product is two operations.
    forward = 2 * 2 * 4 * 200 * ((228 + 200) + (400 + 200)) * num_words
    assert limits.billions(False) == pytest.approx(forward / 1e9)
    assert limits.billions(True) == pytest.approx(3 * forward / 1e9)


def test_policies_reach_openmp():
    assert Setting(2, "default").variables()["OMP_WAIT_POLICY"] == ""
    spinning = Setting(2, "1000").variables()
    assert (spinning["OMP_WAIT_POLICY"], spinning["GOMP_SPINCOUNT"]) == ("PASSIVE", "1000")
    tried = sides.settings()
    assert tried[0] == ONE
    assert {each.policy for each in tried[1:]} in (set(), {"ACTIVE", "PASSIVE"})


def test_a_busy_machine_is_refused_or_warned_of(monkeypatch, capsys):
    monkeypatch.setattr(sides, "load_of_others", lambda: 0.5)
    with pytest.raises(SystemExit, match="other processes use 50% of a core.*--busy"):
        sides.start(sides.new_parser(""), [], print)
    sides.start(sides.new_parser(""), ["--busy"], print)
    assert " core" in capsys.readouterr().out
    monkeypatch.setattr(sides, "load_of_others", lambda: 0.01)
    sides.start(sides.new_parser(""), [], print)
    comparison = sides.Comparison()
    assert sides.notes(comparison) == []
    comparison.load = 0.5
    assert sides.notes(comparison)[1].startswith(
        "WARNING: other processes used up to 50% of a core"
    )
