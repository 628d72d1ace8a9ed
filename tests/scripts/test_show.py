import json
import sys

import pytest

from scripts import show_entities, show_metrics

METRICS = {"precision-PER": 0.5, "recall-PER": 1.0, "f1-measure-PER": 0.6667, "loss": 3.0}


def run(script, capsys, monkeypatch, path):
    monkeypatch.setattr(sys, "argv", ["script", str(path)])
    script.main()
    return capsys.readouterr().out


def test_metrics_of_an_evaluation_become_a_table(tmp_path, capsys, monkeypatch):
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps(METRICS))
    lines = run(show_metrics, capsys, monkeypatch, path).splitlines()
    assert lines[1].split() == ["PER", "0.5000", "1.0000", "0.6667"]


def test_the_best_epochs_metrics_of_a_training_run_are_shown(tmp_path, capsys, monkeypatch):
    path = tmp_path / "metrics.json"
    best = {f"best_validation_{name}": value / 2 for name, value in METRICS.items()}
    path.write_text(json.dumps({**METRICS, **best}))
    lines = run(show_metrics, capsys, monkeypatch, path).splitlines()
    assert lines[1].split() == ["PER", "0.2500", "0.5000", "0.3333"]


def test_a_file_without_metrics_by_label_is_refused(tmp_path, capsys, monkeypatch):
    path = tmp_path / "metrics.json"
    path.write_text('{"loss": 3.0}')
    with pytest.raises(SystemExit):
        run(show_metrics, capsys, monkeypatch, path)
    assert "metrics.json` holds no metrics by label" in capsys.readouterr().err


def test_entities_stand_below_their_text(tmp_path, capsys, monkeypatch):
    entities = [{"label": "PER", "text": "Ada"}, {"label": "EVENT", "text": "May Day"}]
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"text": "Ada on May Day", "entities": entities}) + "\n")
    out = run(show_entities, capsys, monkeypatch, path)
    assert out == "Ada on May Day\n    PER    Ada\n    EVENT  May Day\n"
