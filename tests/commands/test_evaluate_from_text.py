import json
import logging
import shutil

import pytest
from allennlp.common import Params

from tagger.commands import train_from_text
from tagger.commands.train_from_text import measure_on_text
from tagger.tools.reports.run_tables import percent
from tagger.training.run_folder import TEXT_METRICS_FILE
from tests.tools.reports.pages import read_page

FILE = "data/toy/test.txt"
F1 = "f1-measure-overall"


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
def test_training_saves_f1_on_raw_text_and_warns_if_it_is_lower(
    is_worse, allennlp, trained, tmp_path, monkeypatch, caplog
):
    caplog.set_level(logging.WARNING)
    if is_worse:
        monkeypatch.setattr(train_from_text, "_metrics_of_text", lambda *_: {F1: 0.25})
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    measure_on_text(str(run), Params({"validation_data_path": "data/toy/dev.txt"}))
    assert ("F1 is 0.2500" in caplog.text) == is_worse
    assert len(caplog.records) == is_worse
    f1 = json.loads((run / TEXT_METRICS_FILE).read_text())[F1]
    if is_worse:
        assert f1 == 0.25
        return  # a report shows the number of the file, whichever it is
    for data, is_said in ((), True), (("--data", FILE), False):
        allennlp("report", run, "-o", tmp_path / "run.html", *data)
        page = " ".join(read_page(tmp_path / "run.html").text.split())
        sentence = f"which the tagger splits into tokens by itself, F1 is {percent(f1)} %"
        assert (sentence in page) == is_said
