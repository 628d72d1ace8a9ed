import json
import sys

import pytest

from scripts import show_entities, show_scores

SCORES = {"precision-PER": 0.5, "recall-PER": 1.0, "f1-measure-PER": 0.6667, "loss": 3.0}


def run(script, capsys, monkeypatch, path):
    monkeypatch.setattr(sys, "argv", ["script", str(path)])
    script.main()
    return capsys.readouterr().out


def test_scores_of_an_evaluation_become_a_table(tmp_path, capsys, monkeypatch):
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(SCORES))
    lines = run(show_scores, capsys, monkeypatch, path).splitlines()
    assert lines[1].split() == ["PER", "0.5000", "1.0000", "0.6667"]


def test_of_a_training_run_the_best_epochs_scores_count():
    best = {f"best_validation_{name}": value / 2 for name, value in SCORES.items()}
    assert show_scores.scores_of({**SCORES, **best}) == {"PER": [0.25, 0.5, 0.33335]}


def test_metrics_without_span_scores_are_refused():
    with pytest.raises(ValueError, match="`metrics` holds no scores of spans.*but loss"):
        show_scores.scores_of({"loss": 3.0})


def test_entities_stand_below_their_text(tmp_path, capsys, monkeypatch):
    entities = [{"label": "PER", "text": "Ada"}, {"label": "EVENT", "text": "May Day"}]
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"text": "Ada on May Day", "entities": entities}) + "\n")
    out = run(show_entities, capsys, monkeypatch, path)
    assert out == "Ada on May Day\n    PER    Ada\n    EVENT  May Day\n"
