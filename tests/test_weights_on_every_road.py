"""The weights of sentences on every way into training: used, kept, or named as not used.

That a model uses the weights that it gets is tested in `tests/models/test_weights_of_instances.py`.
"""

import json
from unittest.mock import patch

import pytest
from allennlp.common import Params

from tagger.data import ColumnDatasetReader
from tagger.data.formats import FORMATS, AnnotatedText, Annotation
from tagger.integrations.service.retraining import Retraining
from tagger.models.tagging_model import TaggingModel
from tagger.tools.runs import jobs

WEIGHTS = [2, 1, 0, 0.5]
HINT = "to weigh texts by it, set `weight: 'weight'` of the dataset reader"
NAMES = ["Ada", "Bo", "Cy", "Di", "Eve", "Flo", "Gil"]
#: A name is in the sentences that weigh 0 alone.
SENTENCES = [
    ([("Zed" if n % 4 == 2 else NAMES[n % 7], "B-PER"), ("saw", "O"), (f"it{n}", "B-THING")])
    for n in range(24)
]
READER = {"type": "column", "tag_encoding": "BIO"}
COLUMNS = {**READER, "token_column": "token", "weight": "weight", "tag_column": "tag"}
TEXTS = {**READER, "weight": "weight"}


def rows(sentences=SENTENCES):
    lines = [
        "".join(f"{word}\t{WEIGHTS[n % 4]}\t{tag}\n" for word, tag in sentence)
        for n, sentence in enumerate(sentences)
    ]
    return "token\tweight\ttag\n" + "\n".join(lines)


def records():
    for n, ((name, _), (saw, _), (thing, _)) in enumerate(SENTENCES):
        text = f"{name} {saw} {thing}"
        spans = [(0, len(name), "PER"), (text.index(thing), len(text), "THING")]
        spans = [{"start": start, "end": end, "label": label} for start, end, label in spans]
        yield {"text": text, "spans": spans, "weight": WEIGHTS[n % 4]}


class Road:
    """A folder with data, a command runner, and the weights that models were trained with."""

    def __init__(self, folder, allennlp, capsys):
        self.folder, self.allennlp, self.capsys, self.used = folder, allennlp, capsys, set()
        self.columns = self.write("train.tsv", rows())
        self.texts = self.write("train.jsonl", "".join(f"{json.dumps(x)}\n" for x in records()))

    def path(self, name):
        return self.folder / name

    def write(self, name, text):
        self.path(name).write_text(text, encoding="utf-8")
        return self.path(name)

    def config(self, reader=COLUMNS, data=None, head=None, **more):
        data = data or (self.columns if reader is COLUMNS else self.texts)
        embedder = {"type": "embedding", "embedding_dim": 4}
        model = {"type": "sequence_tagger", "tag_encoding": "BIO", "head": head or {"type": "crf"}}
        model["text_field_embedder"] = {"token_embedders": {"tokens": embedder}}
        config = {
            "dataset_reader": reader,
            "train_data_path": str(data),
            "validation_data_path": str(data),
            "model": {**model, "encoder": {"type": "pass_through"}},
            "data_loader": {"type": "bucketed", "batch_size": 8},
            "trainer": {"num_epochs": 1, "optimizer": {"type": "adam", "lr": 0.1}},
            **more,
        }
        return self.write("config.json", json.dumps(config))

    def trained(self, name="run", **config):
        self.allennlp("train", self.config(**config), "-s", self.path(name))
        return self.path(name) / "model.tar.gz"

    def said(self):
        found = self.capsys.readouterr()
        return found.out + found.err

    def weights_in(self, path, reader=TEXTS):
        params = {each: value for each, value in reader.items() if each != "type"}
        instances = ColumnDatasetReader(**params).read(str(path))
        return [float(each["weights"].tensor) for each in instances]


def train(road):
    road.trained()


def train_texts(road):
    road.trained(reader=TEXTS)


def distilled(road):
    archive = road.trained()
    road.used.clear()
    road.allennlp("soft-labels", archive, road.columns, "-o", road.path("soft.npz"))
    reader = {"type": "soft_labelled", "reader": COLUMNS, "soft_labels": str(road.path("soft.npz"))}
    more = {"head": {"type": "crf", "distillation_weight": 0.5}, "data": road.columns}
    road.trained("student", reader=reader, validation_dataset_reader=COLUMNS, **more)


def augmented(road):
    changes = {"type": "augmentation", "mention_replacement": 1.0, "threshold": 1.0}
    trainer = {"num_epochs": 1, "optimizer": "adam", "callbacks": [changes]}
    road.trained(trainer=trainer)


def studied(road):
    config = json.loads(road.config().read_text())
    study = {"variants": {"plain": config}, "seeds": [1], "columns": []}
    study["columns"] = [{"title": "F1", "metrics": ["best_validation_f1-measure-overall"]}]
    road.allennlp("study", road.write("s.json", json.dumps(study)), "-s", road.path("study"))


def bagged(road):
    options = ("-s", road.path("members"), "--bagging", "--seeds", 1, 2)
    road.allennlp("ensemble", road.config(), "-o", road.path("both.tar.gz"), *options)


def curve(road, *options):
    options = ("-s", road.path("curve"), "--shares", 0.4, 0.7, 1, *options)
    road.allennlp("learning-curve", road.columns, road.columns, *options)


def curve_of_config(road):
    curve(road, "--config", road.config())


def label_errors(road):
    options = ("-o", road.path("errors"), "--folds", 2, "--seeds", 1, "--accept-first", 1)
    road.allennlp("find-label-errors", road.columns, "--config", road.config(), *options)
    kept = road.weights_in(road.path("errors") / "corrected.txt", COLUMNS)
    assert kept == WEIGHTS * 6


def add_label(road):
    archive = road.trained()
    road.used.clear()
    new = road.write("new.tsv", rows().replace("O\n", "B-ACT\n"))
    options = ("--no-bias", "-o", '{"trainer": {"num_epochs": 1}}')
    road.allennlp("add-label", archive, new, "-s", road.path("added"), *options)


def retrained(road, reader=COLUMNS):
    config = Params(json.loads(road.config(reader).read_text()))
    service = Retraining(road.path("service"), config, "mine", 0)
    text = AnnotatedText("Bo saw it", [Annotation("PER", 0, 2)], None, None, "", {"weight": 7})
    service.keep(1, 1, text)
    run = road.path("service") / "runs" / "1"
    run.parent.mkdir()
    made = road.write("again.json", json.dumps(service._config_of(run)))
    road.allennlp("train", made, "-s", road.path("again"))
    assert 7 in road.used
    road.used.remove(7)


def retrained_by_number(road):
    """Annotations are texts, which have no columns; they weigh 1."""
    reader = {**COLUMNS, "token_column": 0, "weight": 1, "tag_column": 2}
    config = Params(json.loads(road.config(reader, road.columns).read_text()))
    service = Retraining(road.path("service"), config, "mine", 0)
    text = AnnotatedText("Bo saw it", [Annotation("PER", 0, 2)], None, None, "", {"weight": 7})
    service.keep(1, 1, text)
    run = road.path("service") / "runs" / "1"
    run.parent.mkdir()
    made = service._config_of(run)
    found = road.weights_in(made["train_data_path"], reader)
    assert found == [*WEIGHTS * 6, 1]
    road.used.update(found)


#: What trains a tagger.
TRAINED = {
    "train": train,
    "train with texts": train_texts,
    "soft-labels": distilled,
    "augmentation": augmented,
    "study": studied,
    "ensemble --bagging": bagged,
    "learning-curve --config": curve_of_config,
    "find-label-errors": label_errors,
    "add-label": add_label,
    "serve --label-studio": retrained,
    "serve --label-studio, by number": retrained_by_number,
}


@pytest.fixture
def road(tmp_path, allennlp, capsys, monkeypatch):
    """Records the weights that losses are computed with, also those of runs in other processes."""
    made, loss = Road(tmp_path, allennlp, capsys), TaggingModel._loss

    def recorded(self, emissions, gold_tags, rows, soft, weights):
        if self.training:
            made.used.update([None] if weights is None else weights.flatten().tolist())
        return loss(self, emissions, gold_tags, rows, soft, weights)

    def inline(todo, study, _, work):
        for job in todo:
            job.folder(study).parent.mkdir(parents=True, exist_ok=True)
            work(job.config, job.folder(study))
            jobs._mark_finished(job, study, jobs.digests_of_inputs(job.config))
            yield job

    monkeypatch.setattr(TaggingModel, "_loss", recorded)
    with patch.object(jobs, "run_lazily", inline):
        yield made


@pytest.mark.parametrize("name", TRAINED)
def test_a_tagger_is_trained_with_the_weights(name, road):
    TRAINED[name](road)
    assert road.used == {*WEIGHTS}


def test_a_learning_curve_without_a_config_says_that_it_uses_no_weights(road, caplog):
    stopped = patch("tagger.tools.studies.learning_curve.run_jobs", side_effect=KeyboardInterrupt)
    with stopped, pytest.raises((KeyboardInterrupt, SystemExit)):
        curve(road)
    assert f"train.tsv: not used: column 1 (weight), 72 cells such as '2' ({HINT})" in caplog.text


def test_start_and_convert_say_how_to_use_weights(road):
    for data in (road.columns, road.texts):
        road.allennlp(
            "convert", data, road.path(f"{data.stem}{data.suffix}.jsonl"), "--to", "doccano"
        )
        assert HINT in road.said()
        road.allennlp("start", data, "-o", road.path(f"{data.suffix[1:]}.jsonnet"))
        assert HINT in road.said()


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_keeps_weights_or_convert_says_that_they_are_lost(name, road):
    output = road.path(f"out{FORMATS[name].suffixes[0]}")
    road.allennlp("convert", road.texts, output, "--to", name)
    lost = "other properties of 24 texts: weight\n" in road.said()
    assert lost == ("properties" not in FORMATS[name].keeps)
    if not lost:
        assert road.weights_in(output) == WEIGHTS * 6


def test_prepared_data_keep_their_weights(road):
    road.allennlp("split", road.columns, road.path("parts"), "--shares", 0.5, 0.5, 0)
    road.allennlp("split", road.texts, road.path("texts"), "--shares", 0.5, 0.5, 0)
    for folder, suffix, reader in (("parts", ".tsv", COLUMNS), ("texts", ".jsonl", TEXTS)):
        paths = [road.path(folder) / f"{name}{suffix}" for name in ("train", "dev")]
        assert sorted(sum((road.weights_in(path, reader) for path in paths), [])) == sorted(
            WEIGHTS * 6
        )
    sources = [road.write(f"{name}.jsonl", road.texts.read_text()) for name in "ab"]
    road.allennlp("merge-labels", *sources, "-o", road.path("m.jsonl"), "--to", "prodigy")
    assert road.weights_in(road.path("m.jsonl")) == WEIGHTS * 6
    road.said()
    road.allennlp("merge-labels", *sources, "-o", road.path("m.conll"))
    assert "lost the other properties of 24 texts: weight" in road.said()


def test_ranked_texts_keep_their_weights(road):
    archive = road.trained()
    options = ("--budget", 1000, "--least-doubt", 0.001, "-o", road.path("next.jsonl"))
    road.allennlp("rank-unlabelled", archive, road.texts, *options)
    found = [json.loads(line) for line in road.path("next.jsonl").read_text().splitlines()]
    texts = {each["text"]: each["weight"] for each in records()}
    assert found
    assert all(each["weight"] == texts[each["text"]] for each in found)
