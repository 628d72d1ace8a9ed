import re

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params

from tagger.reports import run_report, write_run_report
from tests.conftest import CONFIGS
from tests.reports.pages import read_page

SENTENCES = "Ada B-PER\nLovelace I-PER\nmet O\n<Zoé&> B-LOC\n. O\n\nParis B-LOC\n{tag}\n\n"


@pytest.fixture
def of_archive(archive, monkeypatch):
    """The archive that reports are made of."""
    monkeypatch.setattr(run_report, "load_archive", lambda path: archive)
    return archive


def write_data(tmp_path, tag):
    path = tmp_path / "data.txt"
    path.write_text(SENTENCES.format(tag=f"left {tag}"), encoding="utf-8")
    return str(path)


def test_the_page_of_a_run_is_whole_and_shows_epochs_metrics_and_probabilities(
    allennlp, trained, at_root, tmp_path
):
    allennlp("report", trained, "-o", tmp_path / "run.html", "--figures", tmp_path)
    page = read_page(tmp_path / "run.html")
    assert sum(tag == "svg" for tag, _ in page.tags) == 3
    assert {"PER", "LOC", "overall", "spans: gold > predicted"} <= set(page.cells)
    assert {path.stem for path in tmp_path.glob("*.svg")} == {
        "epochs",
        "precision_recall",
        "reliability",
    }


def test_errors_are_marked_and_escaped(trained, of_archive, tmp_path, monkeypatch):
    tags = iter([["B-PER", "L-PER", "O", "O", "U-ORG"], ["U-PER", "O"]])
    monkeypatch.setattr(
        type(of_archive.model),
        "forward_on_instances",
        lambda model, instances: [
            {
                "words": instance["metadata"]["words"],
                "tags": next(tags),
                "entity_probabilities": [0.9, 0.6],
            }
            for instance in instances
        ],
    )
    write_run_report(trained, tmp_path / "run.html", write_data(tmp_path, "O"))
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<mark>Ada Lovelace <small>PER</small></mark>" in text
    assert '<mark class="wrong">&lt;Zoé&amp;&gt; <small>LOC, missed</small></mark>' in text
    assert '<mark class="wrong">. <small>ORG, spurious</small></mark>' in text
    assert '<mark class="wrong">Paris <small>PER, wrong label</small></mark>' in text
    read_page(tmp_path / "run.html")


def test_sentences_with_unknown_tags_are_left_out_of_errors(trained, of_archive, tmp_path):
    of_archive.validation_dataset_reader._unknown_tag = "?"
    write_run_report(trained, tmp_path / "run.html", write_data(tmp_path, "?"))
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "2 sentences" in text
    assert "for the 1 sentences without unknown tags" in text


def test_what_does_not_apply_to_plain_labels_is_left_out(at_root, tmp_path):
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    data = tmp_path / "data.txt"
    data.write_text("Ada NOUN\nleft VERB\n\n" * 8)
    config.update(train_data_path=str(data), validation_data_path=str(data))
    config["dataset_reader"].update(source_encoding=None, tag_encoding=None)
    config["trainer"].update(num_epochs=1, validation_metric="+accuracy")
    train_model(Params(config), str(tmp_path / "run"))
    write_run_report(tmp_path / "run", tmp_path / "run.html")
    page = read_page(tmp_path / "run.html")
    assert "NOUN" in page.cells
    assert sum(tag == "svg" for tag, _ in page.tags) == 1
    text = (tmp_path / "run.html").read_text()
    assert {"loss", "F1", "validation", "macro"} <= set(re.findall(r">([^<>]+)</text>", text))
    assert text.count("the tags of this model spell no entities") == 2


def test_a_broken_archive_is_named_in_one_line(allennlp, trained, tmp_path):
    archive = (trained / "model.tar.gz").read_bytes()
    (tmp_path / "model.tar.gz").write_bytes(archive[:5_000])
    with pytest.raises(SystemExit, match="^report: .*model.tar.gz") as error:
        allennlp("report", tmp_path, "-o", tmp_path / "run.html")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": Params({})}, "must name a file, because .* has no validation data"),
        ({"model": torch.nn.Identity()}, "must hold a `sequence_tagger`; .* holds a `Identity`"),
    ],
)
def test_other_models_and_runs_without_data_are_refused(
    archive, trained, tmp_path, monkeypatch, change, message
):
    monkeypatch.setattr(run_report, "load_archive", lambda path: archive._replace(**change))
    with pytest.raises(ValueError, match=message):
        write_run_report(trained, tmp_path / "run.html")
