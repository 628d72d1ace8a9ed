import json
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params

from tagger.spans import tags_to_spans
from tagger.tools.reports import run_report
from tagger.tools.reports.run_report import NUM_OPEN, write_run_report
from tagger.tools.tuning.groups import Groups
from tagger_texts.prediction import Entity, Prediction
from tests.conftest import ROOT
from tests.tools.reports.pages import read_page, row

SENTENCES = "Ada B-PER\nLovelace I-PER\nmet O\n<Zoé&> B-LOC\n. O\n\nParis B-LOC\n{tag}\n\n"
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def of_archive(archive, monkeypatch):
    """The archive that reports are made of."""
    monkeypatch.setattr(run_report, "load_archive", lambda path: archive)
    return archive


def write_data(tmp_path, tag):
    path = tmp_path / "data.txt"
    path.write_text(SENTENCES.format(tag=f"left {tag}"), encoding="utf-8")
    return str(path)


def num_figures(page):
    return sum(
        tag == "svg" and "spark" not in attributes.get("class", "") for tag, attributes in page.tags
    )


def report(run, data=None, **options):
    """Writes the report of a run next to it and reads it."""
    path = run.parent / "report.html"
    write_run_report(run, path, *([str(data)] if data else []), **options)
    return read_page(path)


def test_the_page_of_a_run_is_whole_and_shows_epochs_metrics_and_probabilities(
    allennlp, trained, at_root, tmp_path, capsys
):
    path = tmp_path / "run.html"
    allennlp("report", trained, "-o", path, "--figures", tmp_path)
    assert f"Wrote {path}, and its figures in {tmp_path}\n" in capsys.readouterr().out
    page = read_page(path)
    figures = {path.stem for path in tmp_path.glob("*.svg")}
    assert figures == {
        *("epochs_loss", "epochs_F1", "epochs_labels", "precision_recall_1", "reliability"),
        "label_counts",
    }
    labels = page.cells.index("found (F1 > 0)")
    assert page.cells[labels + 1 : labels + 4] == ["all", "4", "4"]
    assert "how many sentences have both the label of the row and that of the column" in page.text
    assert num_figures(page) == len(figures)
    cells = {"PER", "LOC", "all labels together", "entities", "tokens", "boundary"}
    assert cells <= set(page.cells)
    for fact in ("training time", "torch", "AllenNLP 2.10.1", "Python 3", "data/toy/dev.txt"):
        assert fact in page.text
    assert '"type": "sequence_tagger"' in page.text
    metrics = json.loads((trained / "metrics.json").read_text())
    # Epochs count from 1, as in the log.
    assert f"of which the model of epoch {metrics['best_epoch'] + 1} was kept" in page.text
    assert row(page, "LOC")[1] == f"{100 * metrics['best_validation_f1-measure-LOC']:.1f}"
    # It makes no errors on its development data.
    page = report(trained, "data/toy/dev.txt")
    assert "F1 of entities 100.0 % no interval" in page.text
    assert page.text.endswith("Errors None.")


@pytest.mark.parametrize("border", ["-DOCSTART- O\n\n", ""], ids=["documents", "sentences"])
def test_intervals_are_over_documents_and_training_data_are_compared(
    trained, of_archive, at_root, border, tmp_path
):
    sentences = (ROOT / "data/toy/train.txt").read_text().split("\n\n")[:12]
    data = tmp_path / "data.txt"
    data.write_text(
        "".join((border if n % 3 == 0 else "") + f"{each}\n\n" for n, each in enumerate(sentences))
    )
    page = report(trained, data)
    drawn = "documents" if border else "sentences"
    assert ("12 sentences of 4 documents, " in page.text) == bool(border)
    assert f"from resampling the {drawn} 1,000 times" in page.text
    assert ("too narrow if several sentences come from one document" in page.text) == (not border)
    assert "Beside the training data: 100.0% of" in page.text
    assert "100.0% of 12 sentences nearly equal a training one, 12 exactly." in page.text
    assert "[Maria Lindqvist PER] was named head of [Nordbank ORG] on Monday." in page.text
    assert "PER: longest '" in page.text
    assert "expect lower figures on new texts." in page.text


def test_errors_are_marked_and_escaped_and_have_their_probability(
    trained, of_archive, tmp_path, monkeypatch
):
    tags = iter([["B-PER", "L-PER", "O", "O", "U-ORG"], ["U-PER", "O"]])

    def forward(model, instances):
        for instance in instances:
            instance.index_fields(model.vocab)
        return [
            Prediction(
                tokens=instance["metadata"]["words"],
                tags=spelt,
                entities=[
                    Entity.of_tokens(label, *ends, probability)
                    for (label, ends), probability in zip(tags_to_spans(spelt, "BIOUL"), [0.9, 0.6])
                ],
            )
            for instance, spelt in zip(instances, tags)
        ]

    monkeypatch.setattr(type(of_archive.model), "predict_instances", forward)
    write_run_report(trained, tmp_path / "run.html", write_data(tmp_path, "O"))
    text = (tmp_path / "run.html").read_text(encoding="utf-8")

    def marked(words, label, verdict, probability):
        wrong = f", <b>{verdict}</b>" if verdict else ""
        mark = f'<mark class="c\\d+{" wrong" if verdict else ""}">'
        return re.search(
            f'{mark}{re.escape(words)} <small dir="ltr"><bdi>{label}</bdi>{wrong} {probability}'
            "</small></mark>",
            text,
        )

    assert marked("Ada Lovelace", "PER", None, "90 %")
    assert marked("&lt;Zoé&amp;&gt;", "LOC", "missed", r"(&lt;)?\d+ %")
    assert marked(".", "ORG", "spurious", "60 %")
    assert marked("Paris", "PER", "wrong label", "90 %")
    page = read_page(tmp_path / "run.html")
    examples = [attributes["data-e"] for tag, attributes in page.tags if "data-e" in attributes]
    # Labels: PER, LOC, ORG, as far as they occur; kinds: missed, spurious, wrong label.
    assert examples == ["0:0 2:1", "0:2 1:2"]
    surprises = [float(a["data-p"]) for tag, a in page.tags if "data-p" in a]
    assert surprises[0] >= 0.6
    assert surprises[1] >= 0.9


def test_sentences_with_unknown_tags_are_left_out_of_errors(trained, of_archive, tmp_path):
    reader = of_archive.validation_dataset_reader
    reader.files = reader.with_reading(replace(reader.reading, unknown_tag="?")).files
    page = report(trained, write_data(tmp_path, "?"))
    assert "2 sentences" in page.text
    assert "Only the 1 sentences without unknown tags" in page.text


PLAIN = {"encoding": None, "metric": "+accuracy"}


def test_plain_labels_have_metrics_of_tokens_and_errors_with_probabilities(train_on):
    page = report(train_on("Ada NOUN\nleft VERB\n\n" * 8 + "Ada VERB\n\n", **PLAIN))
    for said in ("F1 of tokens", "accuracy", "the tags of this model spell no entities"):
        assert said in page.text
    assert num_figures(page) == 4
    assert re.search(r"Ada (NOUN|VERB), wrong label \d+ %", page.text)


def test_text_from_data_is_escaped(train_on, tmp_path):
    lines = f"{EVIL} B-{EVIL}\n{EVIL} O\n\n" * 12 + f"b B-{EVIL}\nc O\n\n"
    page = report(train_on(lines, name="<b>run"))
    source = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "alert(1)" in source
    assert EVIL not in source
    assert "<b>run" not in source
    assert EVIL in page.cells
    # What is said of its only label is not said again.
    assert {"all labels together", "mean over labels"} & {*page.cells} == set()
    assert "macro" not in page.text


def test_hundreds_of_labels_have_a_row_each_and_a_list_of_confusions(train_on, tmp_path):
    run = train_on("".join(f"word{i % 7} T{i}\n\n" for i in range(200)), **PLAIN)
    page = report(run, num_errors=250)
    assert {f"T{i}" for i in range(200)} <= set(page.cells)
    assert "The most frequent confusions of tokens" in page.text
    errors = [tag for tag, attributes in page.tags if "data-e" in attributes]
    assert f"{len(errors) - NUM_OPEN} more" in page.text
    (folded,) = (place for place, (tag, own) in enumerate(page.tags) if own.get("id") == "more")
    assert sum("data-e" in own for _, own in page.tags[:folded]) == NUM_OPEN < len(errors)
    assert (tmp_path / "report.html").stat().st_size < 500_000


def test_tokens_with_several_labels_have_thresholds_and_curves(train_on):
    lines = "Ada PER|FIRST\nLovelace PER\nleft O\nBank ?\n\n" * 12
    lines += "left PER|?FIRST\nBank FIRST\n\n"
    page = report(train_on(lines, encoding=None, label_separator="|", unknown_tag="?"))
    assert "F1 of labels of tokens" in page.text
    assert num_figures(page) == 6
    assert "threshold" in page.cells
    cells = page.cells[page.cells.index("gold labels of an item") + 5 :]
    assert list(zip(cells[:15:5], cells[1:15:5])) == [("0", "12"), ("1", "14"), ("2", "12")]
    assert "how many tokens have both the label" in page.text
    assert re.search(r"(PER|FIRST), (missed|spurious) \d+ %", page.text)
    assert "Hamming loss" in page.text


def test_documents_with_labels_have_a_report_too(tmp_path):
    documents = [({"text": f"wheat {EVIL}", "labels": ["grain"]}), ({"text": "the", "labels": []})]
    lines = "".join(
        json.dumps(document) + "\n"
        for document in [*documents * 10, {"text": "crude oil", "labels": ["grain", "oil"]}]
    )
    (tmp_path / "data.jsonl").write_text(lines)
    embedding = {"type": "embedding", "embedding_dim": 4}
    params = {
        "dataset_reader": {"type": "document"},
        "train_data_path": str(tmp_path / "data.jsonl"),
        "validation_data_path": str(tmp_path / "data.jsonl"),
        "model": {
            "type": "document_classifier",
            "text_field_embedder": {"token_embedders": {"tokens": embedding}},
            "encoder": {"type": "cnn", "num_filters": 2, "ngram_filter_sizes": [1]},
        },
        "data_loader": {"batch_size": 8},
        "trainer": {"optimizer": "adam", "num_epochs": 1},
    }
    train_model(Params(params), str(tmp_path / "run"))
    run, empty = tmp_path / "run", tmp_path / "empty.jsonl"
    page = report(run)
    assert "21 documents" in page.text
    assert re.search(r"(grain|oil), (missed|spurious) \d+ %", page.text)
    assert {"grain", "oil", "threshold"} <= set(page.cells)
    start = page.cells.index("documents")
    assert page.cells[start + 1 : start + 9] == [
        *("grain", "oil", "grain", "11", "1", "oil", "1", "1")
    ]
    assert EVIL not in (tmp_path / "report.html").read_text()
    empty.write_text("\n")
    with pytest.raises(ValueError, match="must have sentences; .* has none"):
        report(run, empty)


def test_without_validation_data_the_page_shows_the_training(train_on, tmp_path):
    run = train_on("Ada B-PER\nleft O\n\n" * 8, validate=False)
    page = report(run)
    assert num_figures(page) == 1
    assert "the run has no validation data" in page.text
    assert "F1 of entities" in report(run, tmp_path / "data.txt").text


def test_an_archive_alone_has_a_report(trained, at_root, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(trained / "model.tar.gz", run)
    page = report(run)
    assert "no metrics of individual epochs" in page.text
    # The archive tells the date; nothing tells the duration.
    assert re.search(r"trained\s*\d{4}-\d\d-\d\d \d\d:\d\d", page.text)
    assert "training time" not in page.text


def test_a_metric_that_some_epochs_lack_leaves_a_gap(trained, at_root, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    file = tmp_path / "run" / "metrics_epoch_3.json"
    metrics = json.loads(file.read_text())
    file.write_text(json.dumps({name: v for name, v in metrics.items() if "f1" not in name}))
    assert num_figures(report(tmp_path / "run")) == 6


def test_incomplete_taggers_and_untagged_data_are_refused(
    allennlp, archive, of_archive, trained, tmp_path, monkeypatch
):
    reader = of_archive.validation_dataset_reader
    untagged = reader.with_reading(reader.reading.without_tags())
    monkeypatch.setattr(reader, "files", untagged.files)
    with pytest.raises(ValueError, match="must have gold tags; .* has none"):
        report(trained, write_data(tmp_path, "O"))
    other = archive._replace(model=torch.nn.Identity())
    monkeypatch.setattr(run_report, "load_archive", lambda path: other)
    message = "must hold a `sequence_tagger` or a `document_classifier`; .* holds a `Identity`"
    with pytest.raises(ValueError, match=message):
        report(trained)
    monkeypatch.undo()
    whole = (trained / "model.tar.gz").read_bytes()
    (tmp_path / "model.tar.gz").write_bytes(whole[:5_000])
    with pytest.raises(SystemExit, match="^report: .*model.tar.gz") as error:
        allennlp("report", tmp_path, "-o", tmp_path / "run.html")
    assert "\n" not in str(error.value)


def test_averages_by_weight_are_those_of_the_weights():
    # For each of two sentences: right, predicted and gold entities.
    counts, weights = np.array([[[4.0], [5], [8]], [[1], [4], [2]]]), np.array([1.0, 3.0])
    evaluation = SimpleNamespace(counts=counts, weights=weights)
    (row,) = run_report._rows_by_weight(evaluation, Groups("sentence", np.arange(2)), 1)
    assert row.precision.value == pytest.approx((4 + 3 * 1) / (5 + 3 * 4))
    assert row.recall.value == pytest.approx((4 + 3 * 1) / (8 + 3 * 2))


def test_averages_by_weight_are_shown_if_the_weights_of_the_file_differ(train_on, tmp_path):
    line = "{} {} B-PER\nleft {} O\n\n"
    lines = [line.format(name, weight, weight) for name in ("Ada", "Bob") for weight in (1, 3)]
    run = train_on("".join(lines * 6), tag_column=2, weight=1)
    page = report(run, tmp_path / "data.txt")
    assert "all labels together, by weight" in page.cells
    same = tmp_path / "same.txt"
    same.write_text("".join(lines).replace(" 3 ", " 1 "))
    assert "by weight" not in report(run, same).text
