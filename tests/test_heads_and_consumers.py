"""Every head times every consumer of predictions: right, or refused in one sentence.

What is right is known by enumeration, see `tests/heads.py`.
"""

import contextlib
import json
import re
import shutil
from collections import Counter
from typing import Any, Callable, Dict, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow.parquet
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.predictors import Predictor

import tagger
import tagger_onnx
from tagger.data.formats import FORMATS, read_texts
from tagger.data.reading import Reading
from tagger.data.soft_labels import SoftLabels
from tagger.data.sources.annotations import read_annotations
from tagger.models.sequence_tagger_ensemble import AVERAGES
from tagger.tools.deidentification.masks import STYLES
from tagger.tools.labels import errors
from tagger.tools.reports.evaluation import evaluate
from tagger.tools.reports.trellis import instance_of, trellis_of
from tagger.tools.tuning import estimates
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.labelled_file import tuner_on_file
from tests.heads import (
    ENSEMBLES,
    FOREIGN,
    HEADS,
    KINDS,
    LABELS,
    NUMBERS,
    SCORES,
    TEXT,
    WORDS,
    best_steps,
    foreign_heads,
    label_probabilities,
    predictions,
    write_kind,
)
from tests.integrations.service.test_app import ask

#: How many times the gold sentence is repeated, so that settings can be tuned.
TIMES = 12
GOLD = {
    "crf": "the O\nBank B-ORG\nof I-ORG\nYork B-LOC\nTrust O\nclosed O\ntoday O\n\n",
    "sigmoid": "the O\nBank ORG\nof ORG\nYork LOC|ORG\nTrust ORG\nclosed O\ntoday O\n\n",
    "label_chains": "the O\nBank B-ORG\nof I-ORG\nYork B-LOC|I-ORG\nTrust I-ORG\nclosed O\ntoday O\n\n",
}
GOLD["documents"] = f"-DOCSTART- O\n\n{GOLD['crf']}"
GOLD.update(dict.fromkeys(("softmax", *FOREIGN), GOLD["crf"]))
GOLD_TAGS = GOLD["crf"].split()[1::2]
GOLD_SPANS = {("ORG", 1, 2), ("LOC", 3, 3)}
OVERLAPPING_SPANS = {("ORG", 1, 4), ("LOC", 3, 3)}
STARTS = [match.start() for match in re.finditer(r"\S+", TEXT)]


class Cell(NamedTuple):
    """What a consumer gets: a kind of tagger, its archive, an empty folder, and a command runner."""

    kind: str
    archive: Any
    folder: Any
    allennlp: Callable[..., None]

    @property
    def head(self):
        return self.kind.partition(", ")[0]

    def path(self, name, text=None):
        path = self.folder / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return path

    def inputs(self):
        """A file with the input."""
        made = {
            "documents": {"document": TEXT},
            "numbers": {"numbers": NUMBERS},
            "document_classifier": {"text": TEXT},
        }
        return self.path("in.jsonl", json.dumps(made.get(self.kind, {"sentence": TEXT})) + "\n")

    def gold(self):
        if self.kind == "numbers":
            rows = [f"{x},{y},walk" for x, y in NUMBERS * TIMES]
            return self.path("gold.csv", "\n".join(["x,y,activity", *rows]) + "\n")
        if self.kind == "document_classifier":
            line = json.dumps({"text": TEXT, "labels": ["ORG"]}) + "\n"
            return self.path("gold.jsonl", line * TIMES)
        return self.path("gold.txt", GOLD[self.head] * TIMES)

    def check(self, entities, tolerance=1e-5):
        """Asserts that these are the entities: label, start, end and, if known, probability."""
        wanted = [
            (each.label, STARTS[each.first], STARTS[each.last] + len(WORDS[each.last]), each[3])
            for each in predictions(self.kind)
        ]
        entities = [tuple(each) for each in entities]
        assert sorted(each[:3] for each in entities) == sorted(each[:3] for each in wanted)
        for given, known in zip(sorted(entities), sorted(wanted)):
            assert given[3:] in ((), (None,)) or given[3] == pytest.approx(known[3], abs=tolerance)

    def check_labels(self, labels, probabilities=None):
        """Asserts that these are the labels of each token, of the head `sigmoid`."""
        wanted = label_probabilities(self.kind)
        assert labels == [[LABELS[i] for i, p in enumerate(row) if p >= 0.5] for row in wanted]
        for row, own in zip(probabilities or [], wanted.tolist()):
            assert [row[label] for label in LABELS] == pytest.approx(own, abs=1e-5)

    def check_output(self, found):
        """Asserts that an object of JSON is the prediction."""
        if self.head == "sigmoid":
            self.check_labels(found["labels"], found["probabilities"])
        elif self.kind == "numbers":
            assert found["tags"] == STEPS
        elif self.kind == "document_classifier":
            means = np.mean([SCORES[word] for word in WORDS], 0)
            wanted = (1 / (1 + np.exp(-means * len(WORDS)))).tolist()
            assert [found["probabilities"][each] for each in LABELS] == pytest.approx(wanted)
        else:
            self.check(
                (e["label"], e["start"], e["end"], e.get("probability")) for e in found["entities"]
            )

    def check_tagged(self, tagged, tolerance=1e-5):
        if self.head == "sigmoid":
            self.check_labels(tagged.labels, tagged.probabilities)
        elif self.kind == "numbers":
            assert tagged.tags == STEPS
        else:
            fields = ((e.label, e.start, e.end, e.probability) for e in tagged.entities)
            self.check(fields, tolerance)

    def check_counts(self, predicted, right):
        """Asserts how many entities are predicted and right, by label, in the gold file."""
        gold = OVERLAPPING_SPANS if self.head == "label_chains" else GOLD_SPANS
        spans = [each[:3] for each in predictions(self.kind)]
        of_label = Counter(label for label, *_ in spans)
        of_right = Counter(label for label, *place in spans if (label, *place) in gold)
        for label in LABELS:
            assert predicted[label] == of_label[label] * TIMES
            assert right[label] == of_right[label] * TIMES


#: The best tags of the numbers, with the emissions x, y and 0 for the labels in their order.
STEPS = best_steps()


def predict(cell):
    output = cell.path("out.jsonl")
    cell.allennlp("predict", cell.archive, cell.inputs(), "--silent", "--output-file", output)
    cell.check_output(json.loads(output.read_text()))


def predict_file(cell):
    cell.allennlp("predict-file", cell.archive, cell.inputs(), "-o", cell.path("out.jsonl"))
    cell.check_output(json.loads(cell.path("out.jsonl").read_text()))


def in_python(cell):
    loaded = tagger.load(cell.archive)
    if cell.kind == "documents":
        cell.check_tagged(loaded.tag_document(TEXT))
        return
    inputs = np.array(NUMBERS) if cell.kind == "numbers" else TEXT
    cell.check_tagged(loaded.tag(inputs, probabilities=cell.head == "sigmoid"))


def masks(style):
    def masked(cell):
        options = ("-o", cell.path("out.txt"), "--mask", style)
        cell.allennlp("predict-file", cell.archive, cell.inputs(), *options)
        masked = cell.path("out.txt").read_text().splitlines()[0]
        inside = {t for each in predictions(cell.kind) for t in range(each.first, each.last + 1)}
        # No character of an entity is left, and all others are.
        for t, word in enumerate(WORDS):
            assert (word in masked.replace("[", " ").split()) == (t not in inside), masked
        if style == "same-length":
            assert len(masked) == len(TEXT)
        (line,) = cell.path("out.offsets.jsonl").read_text().splitlines()
        restored, end = "", 0
        for mask in json.loads(line)["masks"]:
            restored += masked[end : mask["masked_start"]] + TEXT[mask["start"] : mask["end"]]
            end = mask["masked_end"]
        assert restored + masked[end:] == TEXT

    return masked


def written_as(name):
    def written(cell):
        suffix = FORMATS[name].suffixes[0]
        output = cell.path(f"out{suffix}")
        options = ("-o", output, "--format", name)
        cell.allennlp("predict-file", cell.archive, cell.inputs(), *options)
        (text,) = read_texts(output, Reading(name))
        assert text.text == TEXT
        cell.check(tuple(each)[:3] for each in text.entities)

    return written


def onnx(cell):
    cell.allennlp("export", cell.archive, "-o", cell.path("tagger.onnx"))
    run = tagger_onnx.load(cell.path("tagger.onnx"))
    inputs = np.array(NUMBERS, np.float32) if cell.kind == "numbers" else TEXT
    cell.check_tagged(run.tag(inputs, probabilities=cell.head == "sigmoid"))


def served(cell, *options):
    """Starts the command `serve` up to where it would wait for requests; returns the application."""
    with patch("tagger.integrations.service.server.run") as run:
        cell.allennlp("serve", cell.archive, "--port", "0", *options)
    return run.call_args.args[0]


def service(cell):
    app = served(cell)
    answer = ask(app, "POST", "/tag", json={"text": TEXT, "probabilities": cell.head == "sigmoid"})
    assert answer.status_code == 200, answer.text
    cell.check_output(answer.json()["results"][0])


def spacy_component(cell):
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("allennlp_tagger", config={"model": str(cell.archive)})
    doc = nlp(TEXT)
    group = doc.spans["allennlp_tagger"]
    probabilities = group.attrs["probabilities"]
    cell.check(
        (span.label_, span.start_char, span.end_char, probability)
        for span, probability in zip(group, probabilities)
    )


def evaluate_command(cell, *options):
    output = cell.path("metrics.json")
    cell.allennlp("evaluate", cell.archive, cell.gold(), "--output-file", output, *options)
    metrics = json.loads(output.read_text())
    if cell.head in ("sigmoid", "document_classifier", "numbers", "foreign_tags"):
        assert metrics
        return
    predicted = {label: metrics[f"num-predicted-{label}"] for label in LABELS}
    right = {label: round(metrics[f"precision-{label}"] * predicted[label]) for label in LABELS}
    cell.check_counts(predicted, right)


def evaluate_from_text(cell):
    evaluate_command(cell, "--from-text")


def tune_decoding(cell):
    output = cell.path("tuned.tar.gz")
    cell.allennlp("tune-decoding", cell.archive, cell.gold(), "-o", output, "--macro-f1")
    assert load_archive(output)
    archive = load_archive(cell.archive)
    tuner = tuner_on_file(archive.model, archive.validation_dataset_reader, str(cell.gold()))
    right, predicted, _ = tuner.counts(Settings(*_settings(archive.model)))
    cell.check_counts(dict(zip(tuner.labels, predicted)), dict(zip(tuner.labels, right)))


def _settings(model):
    decoder = model.head.decoder
    return decoder.decode_bias, decoder.entity_thresholds


def promise_of_masks(cell):
    output = cell.path("tuned.tar.gz")
    options = ("-o", output, "--masked", "all=0.5", "--confidence", "0.8")
    cell.allennlp("tune-decoding", cell.archive, cell.gold(), *options)
    archive = load_archive(cell.archive)
    tuner = tuner_on_file(archive.model, archive.validation_dataset_reader, str(cell.gold()))
    (masking,) = tuner.masks(Settings({}, {}), [1.0])
    inside = {t for each in predictions(cell.kind) for t in range(each.first, each.last + 1)}
    assert masking.of_tokens.tolist() == [t in inside for t in range(len(WORDS))] * TIMES


def answer_sets(cell):
    """Calibrates sets, and lists the sets of the input: the gold entities are in them, or sure."""
    tuned, output = cell.path("tuned.tar.gz"), cell.path("out.jsonl")
    cell.allennlp("tune-decoding", cell.archive, cell.gold(), "-o", tuned, "--sets", "0.9")
    cell.allennlp("predict-file", tuned, cell.inputs(), "-o", output, "--sets")
    found = json.loads(output.read_text())
    listed = [each for own in found["sets"] for each in own["alternatives"]] + found["entities"]
    gold = OVERLAPPING_SPANS if cell.head == "label_chains" else GOLD_SPANS
    assert {(each["label"], each["first"], each["last"]) for each in listed} >= gold
    saved = tagger.load(tuned)
    tagged = (
        saved.tag_document(TEXT, sets=True)
        if cell.kind == "documents"
        else saved.tag(TEXT, sets=True)
    )
    assert [each.token for each in tagged.sets] == [each["token"] for each in found["sets"]]
    for own in tagged.sets:
        assert own.none + sum(each.probability for each in own.alternatives) <= 1 + 1e-5


def sets_without_calibration(cell):
    inputs = np.array(NUMBERS) if cell.kind == "numbers" else TEXT
    tagger.load(cell.archive).tag(inputs, sets=True)


def compare_data(cell):
    output, gold = cell.path("compared.json"), cell.gold()
    cell.allennlp("compare-data", cell.archive, gold, gold, "-o", output)
    found = json.loads(output.read_text())["estimates"]
    (truth,) = (each for name, each in found.items() if "the truth" in name)
    assert {*LABELS, "overall"} == truth.keys()


def report(cell):
    archive = load_archive(cell.archive)
    found = evaluate(archive.model, archive.validation_dataset_reader, str(cell.gold()), 5, 0)
    assert found.num_sentences == (1 if cell.kind == "numbers" else TIMES)
    right, predicted, _ = found.counts.sum(0)
    if cell.head not in ("sigmoid", "document_classifier", "numbers"):
        cell.check_counts(dict(zip(found.labels, predicted)), dict(zip(found.labels, right)))


def report_page(cell):
    run, page = cell.folder / "run", cell.path("report.html")
    shutil.copytree(cell.archive.parent, run)
    options = ("--data", cell.gold(), "--figures", cell.folder / "figures", "--num-errors", 5)
    cell.allennlp("report", run, "-o", page, *options)
    assert "</html>" in page.read_text()


def show_chain(cell):
    page = cell.path("chain.html")
    cell.allennlp("show-chain", cell.archive, TEXT, "-o", page, "--tags", *GOLD_TAGS)
    saved = tagger.load(cell.archive)
    found = trellis_of(saved, "it", instance_of(saved, WORDS))
    assert [found.tags[k] for k in found.predicted] == saved.tag(TEXT).tags
    assert "gold path" in page.read_text()


def find_label_errors(cell):
    options = ("--taggers", cell.archive, "-o", cell.folder / "errors", "--least", 0)
    cell.allennlp("find-label-errors", cell.gold(), *options, "--accept-first", 1)
    assert [*(cell.folder / "errors").glob("corrected*")]
    lines = (cell.folder / "errors" / "errors.jsonl").read_text().splitlines()
    assert lines


def rank_unlabelled(cell):
    options = ("-o", cell.path("next.jsonl"), "--budget", 100, "--format", "doccano")
    cell.allennlp("rank-unlabelled", cell.archive, cell.inputs(), *options)
    (text,) = read_texts(cell.path("next.jsonl"), Reading("doccano"))
    cell.check(
        (*each[:3], probability)
        for each, probability in zip(text.entities, text.probabilities or [None] * 9)
    )


def joined_with_its_copy(average):
    def joined(cell):
        copied, output = cell.path("copy.tar.gz"), cell.path("both.tar.gz")
        shutil.copy(cell.archive, copied)
        cell.allennlp("ensemble", cell.archive, copied, "-o", output, "--average", average)
        predictor = Predictor.from_path(output, import_plugins=False)
        found = predictor.predict_json(json.loads(cell.inputs().read_text()))
        if average == "emissions" or cell.head in ("sigmoid", "document_classifier"):
            cell.check_output(found)
        else:
            # Decoded otherwise, which `tests/models/test_sequence_tagger_ensemble.py` tests.
            assert len(found["tags"]) == (len(NUMBERS) if cell.kind == "numbers" else len(WORDS))

    return joined


def soft_labels(cell):
    cell.allennlp("soft-labels", cell.archive, cell.gold(), "-o", cell.path("soft.npz"))
    assert SoftLabels.load(cell.path("soft.npz")).sentences


def add_label(cell):
    new = cell.path("new.txt", "Ada B-NAME\nLu I-NAME\nclosed O\n\nthe O\nBank O\n\n" * TIMES)
    cell.allennlp("add-label", cell.archive, new, "-s", cell.folder / "added", "--no-bias")


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def from_the_reader(cell):
    of_predict, output = cell.path("predict.jsonl"), cell.path("out.jsonl")
    options = ("--silent", "--use-dataset-reader", "--output-file", of_predict)
    cell.allennlp("predict", cell.archive, cell.gold(), *options)
    cell.allennlp("predict-file", cell.archive, cell.gold(), "-o", output, "--use-dataset-reader")
    found = lines_of(output)
    assert lines_of(of_predict) == found
    num_tokens = len(NUMBERS if cell.kind == "numbers" else WORDS)
    names = {"tags", "labels"} & found[0].keys()
    for name in names:
        assert sum(len(each[name]) for each in found) in (num_tokens * TIMES, TIMES)
    assert names


def leaks_and_candidates(cell):
    output = cell.path("out.jsonl")
    options = ("-o", output, "--leaks", "ORG", "--candidates", "0.1")
    cell.allennlp("predict-file", cell.archive, cell.inputs(), *options)
    (found,) = lines_of(output)
    assert found["expected_missed"] > 0
    assert 0 < found["leak_probability"] < 1
    listed = [(each["label"], each["start"]) for each in found["candidates"]]
    probable = [each for each in found["entities"] if each["probability"] >= 0.1]
    assert {(each["label"], each["start"]) for each in probable} <= {*listed}


def nested(cell):
    output = cell.path("out.parquet")
    cell.allennlp("predict-file", cell.archive, cell.inputs(), "-o", output, "--nested")
    (row,) = pyarrow.parquet.read_table(output).to_pylist()
    found = row["prediction"]
    assert found["tokens"] == (None if cell.kind == "numbers" else WORDS)
    if found["entities"] is not None:
        fields = ("label", "start", "end", "probability")
        cell.check([each[name] for name in fields] for each in found["entities"])


def with_probabilities(cell):
    output = cell.path("out.jsonl")
    options = ("-o", output, "--predictor-args", '{"probabilities": true}')
    cell.allennlp("predict-file", cell.archive, cell.inputs(), *options)
    (found,) = lines_of(output)
    for t, of_tags in enumerate(found["probabilities"]):
        assert all(0 <= each <= 1 + 1e-6 for each in of_tags.values())
        if "tags" in found and cell.head != "label_chains":
            assert sum(of_tags.values()) == pytest.approx(1, abs=1e-5)
            assert found["tags"][t] in of_tags
    assert len(found["probabilities"]) == len(NUMBERS if cell.kind == "numbers" else WORDS)


def probable_masks(cell):
    output = cell.path("out.txt")
    options = ("--mask", "labels", "--mask-above", "0.001", "--mask-repeats", "--overrides", "{}")
    cell.allennlp("predict-file", cell.archive, cell.inputs(), "-o", output, *options)
    assert "York" not in output.read_text()


def label_with(cell):
    config = {"sources": {"mine": {"type": "tagger", "archive": str(cell.archive)}}}
    sources, texts = cell.path("sources.json", json.dumps(config)), cell.path("in.txt", TEXT)
    cell.allennlp("label-with", sources, texts, "-o", cell.path("out.jsonl"), "--plain")
    (text,) = read_annotations(cell.path("out.jsonl"))
    cell.check(tuple(each)[:3] for each in text.annotations["mine"])


def service_with_data(cell):
    app = served(cell, "--data", cell.gold())
    of_labels = ask(app, "GET", "/labels").json()["labels"]
    assert [each["name"] for each in of_labels if each["curve"]] == LABELS


def label_studio(cell):
    cell.path("dev.txt", cell.gold().read_text())
    folder = cell.folder / "label-studio"
    options = ("--label-studio", folder, "--retrain-after", "0", "--train-data", cell.gold())
    app = served(cell, *options)
    assert ask(app, "GET", "/health").status_code == 200


def pack(cell):
    cell.allennlp("pack", cell.archive, "-o", cell.path("packed.tar.gz"))


def scores(cell):
    metrics, output = cell.path("metrics.json"), cell.path("out.jsonl")
    options = ("--output-file", metrics, "--predictions-output-file", output, "--overrides", "{}")
    cell.allennlp("evaluate", cell.archive, cell.gold(), *options)
    cell.allennlp("show-scores", metrics)
    assert lines_of(output)


def tuned(*options):
    def tuned(cell):
        output = cell.path("tuned.tar.gz")
        cell.allennlp("tune-decoding", cell.archive, cell.gold(), "-o", output, *options)
        assert load_archive(output)

    return tuned


def promised(cell):
    output = cell.path("tuned.tar.gz")
    options = (
        "--leak",
        "LOC=0.999",
        "--confidence",
        "0.5",
        "--for-next",
        "1",
        "--unit",
        "sentence",
    )
    cell.allennlp("tune-decoding", cell.archive, cell.gold(), "-o", output, *options)
    cell.allennlp("evaluate", output, cell.gold())


def ranked(*options):
    def ranked(cell):
        output = cell.path("next.jsonl")
        options_of_all = ("-o", output, "--budget", "100", *options)
        cell.allennlp("rank-unlabelled", cell.archive, cell.inputs(), *options_of_all)
        assert lines_of(output)

    return ranked


def open_labels(cell):
    folder = cell.folder / "errors"
    options = ("-o", folder, "--leave-open", "0.5", "--least", "0.1")
    cell.allennlp("find-label-errors", cell.gold(), "--taggers", cell.archive, *options)
    assert (folder / "open.txt").exists()


def soft_labels_of_text(cell):
    texts, output = cell.path("in.txt", f"{TEXT}\n"), cell.path("soft.npz")
    options = ("--format", "text", "--temperature", "2")
    cell.allennlp("soft-labels", cell.archive, texts, "-o", output, *options)
    assert [len(each) for each in SoftLabels.load(output).sentences] == [len(WORDS)]


def compare_texts(cell):
    texts, output = cell.path("new.txt", f"{TEXT}\n" * TIMES), cell.path("compared.json")
    options = ("--format", "text", "--run", "2", "--level", "0.1")
    cell.allennlp("compare-data", cell.archive, cell.gold(), texts, "-o", output, *options)
    assert json.loads(output.read_text())["estimates"]


def two_chains(cell):
    cell.allennlp(
        "show-chain", cell.archive, cell.gold(), "--sentence", "1", "--beside", cell.archive
    )


def trained(cell):
    folder = cell.archive.parent
    config = json.loads(next(folder.glob("**/config.json")).read_text())
    config.update(dict.fromkeys(("train_data_path", "validation_data_path"), str(cell.gold())))
    path = cell.path("config.json", json.dumps(config))
    cell.allennlp("train", path, "-s", cell.folder / "run")
    cell.allennlp("evaluate", cell.folder / "run" / "model.tar.gz", cell.gold())


#: The other options of commands, which are tried with fewer kinds of taggers.
OPTIONS: Dict[str, Callable[[Cell], None]] = {
    **{f"masks {style}": masks(style) for style in STYLES},
    **{f"format {name}": written_as(name) for name in FORMATS},
    "--use-dataset-reader": from_the_reader,
    "predict-file --leaks --candidates": leaks_and_candidates,
    "report --figures": report_page,
    "predict-file --nested": nested,
    "predict-file --predictor-args": with_probabilities,
    "predict-file --mask-above": probable_masks,
    "label-with": label_with,
    "serve --data": service_with_data,
    "serve --label-studio": label_studio,
    "pack": pack,
    "show-scores": scores,
    "tune-decoding --curves": tuned("--curves", "--recall", "ORG=0.01", "--precision", "LOC=0.01"),
    "tune-decoding --by": tuned("--f-beta", "ORG=2", "--by", "threshold"),
    "tune-decoding --recalibrate": tuned("--recalibrate"),
    "tune-decoding --target": tuned("--target", "micro", "--least-positives", "1"),
    "tune-decoding --common": tuned("--target", "macro", "--common"),
    "tune-decoding --unmasked": tuned("--unmasked", "all=0.5", "--confidence", "0.8"),
    "tune-decoding --leak": promised,
    "rank-unlabelled --by": ranked("--by", "span", "--least-doubt", "0.001"),
    "rank-unlabelled --rare-labels": ranked("--rare-labels", "--score", "least_confidence"),
    "rank-unlabelled --most-similar": ranked("--most-similar", "0.5", "--score", "expected_missed"),
    "find-label-errors --leave-open": open_labels,
    "soft-labels --format": soft_labels_of_text,
    "compare-data --format": compare_texts,
    "show-chain --beside": two_chains,
    "train": trained,
}
CONSUMERS: Dict[str, Callable[[Cell], None]] = {
    "predict": predict,
    "predict-file": predict_file,
    "tagger.load": in_python,
    "ONNX": onnx,
    "service": service,
    "spaCy": spacy_component,
    "evaluate": evaluate_command,
    "evaluate --from-text": evaluate_from_text,
    "tune-decoding": tune_decoding,
    "tune-decoding --masked": promise_of_masks,
    "sets": answer_sets,
    "sets without calibration": sets_without_calibration,
    "compare-data": compare_data,
    "report": report,
    "show-chain": show_chain,
    "find-label-errors": find_label_errors,
    "rank-unlabelled": rank_unlabelled,
    **{f"ensemble {average}": joined_with_its_copy(average) for average in AVERAGES},
    "soft-labels": soft_labels,
    "add-label": add_label,
}


SIGMOIDS, CHAINS = (
    [kind for kind in KINDS if kind.startswith(head)] for head in ("sigmoid", "label_chains")
)
PLAIN = [*SIGMOIDS, "document_classifier"]
OF_NO_TEXT = ["numbers", "document_classifier"]
OVERLAPPING = ("huggingface", "conllu", "columns")
NEEDS_ENTITIES = [f"masks {style}" for style in STYLES] + [f"format {name}" for name in FORMATS]


def refused(*rules):
    """By kind, the words of the sentence that refuses it; the last rule for a kind wins."""
    return {kind: words for kinds, words in rules for kind in kinds}


CLASSIFIER, TAGS = (["document_classifier"], ["foreign_tags"])
ONLY_TAGGERS = (CLASSIFIER, "expected a `sequence_tagger`")
NO_CHAIN = (
    [*PLAIN, "numbers", *TAGS],
    "must hold a `sequence_tagger` with the head `crf`, `softmax` or `label_chains`, and tags",
)
TUNED = refused(NO_CHAIN, (PLAIN, "of which `--target` and `--common` tune the thresholds"))
BY_LABEL = "are for a `document_classifier`, or a `sequence_tagger` with the head `sigmoid`"
RANKED = refused(NO_CHAIN, (OF_NO_TEXT, "must hold a sequence tagger of texts"))
SHOWN = refused(
    ([*SIGMOIDS, *CHAINS, "numbers", *TAGS], "expected a tagger of text with one chain"),
    ONLY_TAGGERS,
)
NOT_TAUGHT = refused(
    ([*PLAIN, *CHAINS, *TAGS], "a teacher must be"), (["numbers"], "this tagger reads numbers")
)
NO_SCORES = (TAGS, "label errors can only be found with")
NO_ENTITIES = refused(
    (PLAIN, "the tags of this tagger spell no entities to write"),
    (["numbers"], "formats and masks are for texts"),
)
NO_EXTRAS = "needs a tagger with the head `crf`, `softmax` or `label_chains`, and tags"
#: By consumer and kind, the words of the refusal. All other cells are right.
REFUSED = {
    **{
        name: refused(
            (CHAINS if name.partition(" ")[2] in OVERLAPPING else [], "entities overlap"),
        )
        | NO_ENTITIES
        | refused(
            ({*KINDS, *FOREIGN} - {"numbers"} if name == "format brat" else [], "is a folder of")
        )
        for name in NEEDS_ENTITIES
    },
    "tagger.load": refused(ONLY_TAGGERS),
    "ONNX": refused(
        (ENSEMBLES, "of an ensemble, export a member"),
        (["documents"], "`document_contexts` cannot be exported"),
        (CLASSIFIER, "`document_classifier` cannot be exported"),
        (TAGS, "the head `foreign_tags` cannot be exported"),
    ),
    "service": refused(ONLY_TAGGERS, (["numbers"], "must be a recording")),
    "spaCy": refused(
        ([*SIGMOIDS, "numbers"], "must be a tagger with tags that spell"), ONLY_TAGGERS
    ),
    "evaluate --from-text": refused(
        ([*SIGMOIDS, "numbers"], "spell no entities cannot be compared"),
        ONLY_TAGGERS,
    ),
    "tune-decoding": TUNED,
    "tune-decoding --masked": TUNED,
    "sets": TUNED | refused((["numbers"], "needs a tagger of texts")),
    "sets without calibration": refused(
        ([*KINDS, *FOREIGN], "has no calibrated sets; run `allennlp tune-decoding"),
        ([*SIGMOIDS, *TAGS], f"`sets` {NO_EXTRAS}"),
        (["numbers"], "`sets` needs tags that spell entities in BIO"),
        ONLY_TAGGERS,
    ),
    "compare-data": refused(NO_CHAIN),
    "show-chain": SHOWN,
    "find-label-errors": refused(
        (["numbers"], "for the dataset readers `column` and `document`"), NO_SCORES
    ),
    "rank-unlabelled": RANKED,
    "ensemble marginals": refused((TAGS, "`average` must be `emissions`")),
    "soft-labels": NOT_TAUGHT,
    "add-label": refused(
        (
            {*KINDS, *FOREIGN} - {"crf", "label_chains", "documents"},
            "labels can only be added to",
        )
    ),
    "predict-file --leaks --candidates": refused(
        ([*SIGMOIDS, *TAGS], f"`leak_labels` {NO_EXTRAS}"),
        (["numbers"], "`leak_labels` needs texts"),
        (CLASSIFIER, "`--leaks` needs a tagger; got a `document_classifier`"),
    ),
    "predict-file --predictor-args": refused((CLASSIFIER, "`probabilities`, which is no argument")),
    "predict-file --mask-above": NO_ENTITIES
    | refused((CLASSIFIER, "`--mask-above` needs a tagger")),
    "predict-file --nested": refused((CLASSIFIER, "`--nested` needs a tagger; got a `document_cl")),
    "label-with": refused(
        ([*SIGMOIDS, "numbers"], "its labels mark no entities; use another tagger"), ONLY_TAGGERS
    ),
    "serve --data": refused(NO_CHAIN, ONLY_TAGGERS),
    "serve --label-studio": refused(ONLY_TAGGERS, (["numbers"], "must be a recording")),
    "pack": refused(([*KINDS, *FOREIGN], "needs no other transformer; it can be used as it is")),
    "tune-decoding --curves": TUNED,
    "tune-decoding --by": TUNED,
    "tune-decoding --recalibrate": TUNED,
    "tune-decoding --target": refused(({*KINDS, *FOREIGN} - {*PLAIN}, BY_LABEL)),
    "tune-decoding --common": refused(({*KINDS, *FOREIGN} - {*PLAIN}, BY_LABEL)),
    "tune-decoding --unmasked": TUNED,
    "tune-decoding --leak": TUNED,
    "rank-unlabelled --by": RANKED,
    "rank-unlabelled --rare-labels": RANKED,
    "rank-unlabelled --most-similar": RANKED,
    "find-label-errors --leave-open": refused(
        (["numbers"], "for the dataset readers `column` and `document`"),
        NO_SCORES,
        (CLASSIFIER, "labels of documents cannot be left open"),
    ),
    "soft-labels --format": NOT_TAUGHT
    | refused((["numbers"], "this tagger reads numbers, not text")),
    "compare-data --format": refused(NO_CHAIN),
    "show-chain --beside": SHOWN,
}
#: Commands that need no tagger, or make one of a config without asking for its head.
WITHOUT_TAGGER = (
    "agreement convert describe fetch-encoder find-lr import-hf learning-curve merge-labels split start "
    "study"
).split()
#: Options that know nothing of heads, by command.
ALIKE = {
    "add-label": "--most-lost --overrides",
    "ensemble": "--bagging --seeds --workers -s",
    "evaluate": "--auto-names --batch-weight-key --embedding-sources-mapping --extend-vocab"
    " --file-friendly-logging --weights-file",
    "export": "--language",
    "find-label-errors": "--accept --config --folds --overrides --seeds --workers",
    "label-with": "--input-format",
    "pack": "--transformer",
    "predict": "--dataset-reader-choice --file-friendly-logging --multitask-head --overrides --predictor"
    " --predictor-args --weights-file",
    "predict-file": "--column --cpus --gpus --input-format --keep --on-error --plain --ray --text-column"
    " --window --workers",
    "rank-unlabelled": "--input-format --plain",
    "report": "--agreement --learning-curve --seed",
    "serve": "--allow-host --host --language --limits",
    "soft-labels": "--language",
    "train": "--dry-run --file-friendly-logging --node-rank --overrides --recover",
}


#: The commands see of an ensemble only the head that decodes, and `predict` whether averages are right.
JOINED = [
    *(f"crf, averaged {average}" for average in AVERAGES),
    "label_chains, averaged marginals",
    "sigmoid, averaged emissions",
]
#: By consumer, the kinds of taggers with which it is tried. Formats and masks see entities alone.
KINDS_OF = {
    **dict.fromkeys(CONSUMERS, (*HEADS, *JOINED, "documents", *OF_NO_TEXT, *FOREIGN)),
    **dict.fromkeys(OPTIONS, (*HEADS, JOINED[2], *OF_NO_TEXT, *FOREIGN)),
    **dict.fromkeys(
        NEEDS_ENTITIES, ("crf", "label_chains", "sigmoid", *OF_NO_TEXT, "foreign_tags")
    ),
    "predict": (*KINDS, *FOREIGN),
}
CELLS = [(consumer, kind) for consumer, kinds in KINDS_OF.items() for kind in kinds]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Writes the archive of a kind at its first use."""
    folder = tmp_path_factory.mktemp("heads")
    with foreign_heads():
        yield lambda kind: write_kind(kind, folder / kind.replace(", averaged ", "-"))


@pytest.mark.parametrize(("consumer", "kind"), CELLS)
def test_a_cell_is_right_or_refused_in_one_sentence(
    consumer, kind, archives, allennlp, tmp_path, monkeypatch, capsys
):
    # Intervals and rankings have separate tests.
    monkeypatch.setattr(estimates, "NUM_RESAMPLES", 2)
    monkeypatch.setattr(errors, "NUM_TREES", 2)
    monkeypatch.chdir(tmp_path)
    cell = Cell(kind, archives(kind), tmp_path, allennlp)
    words, consume = REFUSED.get(consumer, {}).get(kind), {**CONSUMERS, **OPTIONS}[consumer]
    if words is None:
        consume(cell)
        return
    with pytest.raises((SystemExit, ConfigurationError, ValueError)) as raised:
        consume(cell)
    message = str(raised.value)
    if message == "1":
        lines = capsys.readouterr().err.strip().splitlines()
        assert not any(line.startswith("Traceback") for line in lines)
        message = lines[-1]
    assert words in message
    assert "\n" not in message


def test_every_command_and_option_for_taggers_is_in_the_table(archives, parsers, tmp_path):
    tried = {}

    def record(command, *arguments):
        options = {each for each in arguments if str(each).startswith("-")}
        tried.setdefault(command, set()).update(options)

    for number, consumer in enumerate({**CONSUMERS, **OPTIONS}.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        # The commands write nothing, so what reads their output fails.
        with contextlib.suppress(Exception):
            consumer(Cell("crf", archives("crf"), folder, record))
    assert sorted(parsers.keys() - tried.keys()) == sorted(WITHOUT_TAGGER)
    untried = {
        (command, action.option_strings[-1])
        for command, parser in parsers.items()
        if command in tried
        for action in parser._actions
        if action.option_strings and not tried[command] & {*action.option_strings}
    }
    alike = {(command, name) for command, names in ALIKE.items() for name in names.split()}
    everywhere = {"--help", "--force", "--include-package", "--cuda-device", "--batch-size"}
    assert {each for each in untried if each[1] not in everywhere} == alike
