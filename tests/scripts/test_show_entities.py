import json
import sys

from scripts import show_entities


def test_entities_stand_below_their_text(tmp_path, capsys, monkeypatch):
    entities = [{"label": "PER", "text": "Ada"}, {"label": "EVENT", "text": "May Day"}]
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"text": "Ada on May Day", "entities": entities}) + "\n")
    monkeypatch.setattr(sys, "argv", ["show_entities.py", str(path)])
    show_entities.main()
    out = capsys.readouterr().out
    assert out == "Ada on May Day\n    PER    Ada\n    EVENT  May Day\n"
