import json
import logging

import pytest
from allennlp.common import Params

from tagger.commands import train_from_text
from tagger.commands.train_from_text import say_f1_of_text

FILE = "data/toy/test.txt"


@pytest.mark.usefixtures("at_root")
def test_evaluate_compares_entities_by_characters(allennlp, trained, tmp_path, capsys):
    archive, output = str(trained / "model.tar.gz"), tmp_path / "metrics.json"
    allennlp("evaluate", archive, FILE, "--from-text", "--output-file", str(output))
    metrics = json.loads(output.read_text())
    assert metrics["num-gold-overall"] > 0
    printed = capsys.readouterr().out
    assert f"{metrics['f1-measure-overall']:.4f}" in printed
    assert f"{metrics['character-f1-measure-overall']:.4f}" in printed
    assert "F1 by scheme" in printed
    with pytest.raises(SystemExit):
        allennlp("evaluate", archive, f"{FILE},{FILE}", "--from-text")


@pytest.mark.usefixtures("at_root")
@pytest.mark.parametrize("is_worse", [False, True])
def test_training_says_what_text_costs(is_worse, trained, monkeypatch, caplog):
    caplog.set_level(logging.WARNING)
    if is_worse:
        monkeypatch.setattr(train_from_text, "_f1_of_text", lambda *_: 0.25)
    params = Params({"validation_data_path": "data/toy/dev.txt"})
    say_f1_of_text(str(trained), params)
    assert ("F1 is 0.2500" in caplog.text) == is_worse
    assert len(caplog.records) == is_worse
