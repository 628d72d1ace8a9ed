"""Every head times every consumer of predictions: right, or refused in one sentence.

What is right is known by enumeration, see `tests/heads.py`.
"""

import json
import re
import shutil
from collections import Counter
from typing import Any, Callable, Dict, NamedTuple

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.predictors import Predictor

import tagger
import tagger_onnx
from tagger.data.formats import FORMATS, read_texts
from tagger.data.reading import Reading
from tagger.data.soft_labels import SoftLabels
from tagger.integrations.onnx.commands.export import export
from tagger.integrations.service.app import Served, create_app
from tagger.linear_chain import ChainScores, log_likelihood
from tagger.models.sequence_tagger_ensemble import AVERAGES
from tagger.modules.heads import ChainHead, TaggingHead
from tagger.modules.heads.chain import legal_transitions
from tagger.tools.deidentification.masks import STYLES
from tagger.tools.reports.evaluation import evaluate
from tagger.tools.reports.trellis import instance_of, trellis_of
from tagger.tools.tuning import estimates
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.labelled_file import tuner_on_file
from tests.heads import (
    ENSEMBLES,
    KINDS,
    LABELS,
    NUMBERS,
    SCORES,
    TEXT,
    WORDS,
    best_steps,
    label_probabilities,
    predictions,
    write_kind,
    write_tagger,
)
from tests.integrations.service.test_app import ask

#: How many times the gold sentence is repeated, so that settings can be tuned.
TIMES = 12
GOLD = {
    "crf": "the O\nBank B-ORG\nof I-ORG\nYork B-LOC\nTrust O\nclosed O\ntoday O\n\n",
    "sigmoid": "the O\nBank ORG\nof ORG\nYork LOC|ORG\nTrust ORG\nclosed O\ntoday O\n\n",
    "label_chains": "the O\nBank B-ORG\nof I-ORG\nYork B-LOC|I-ORG\nTrust I-ORG\nclosed O\ntoday O\n\n",
}
GOLD["softmax"], GOLD["documents"] = GOLD["crf"], f"-DOCSTART- O\n\n{GOLD['crf']}"
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
                (e["label"], e["start"], e["end"], e["probability"]) for e in found["entities"]
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
    export(load_archive(cell.archive), cell.path("tagger.onnx"))
    run = tagger_onnx.load(cell.path("tagger.onnx"))
    inputs = np.array(NUMBERS, np.float32) if cell.kind == "numbers" else TEXT
    cell.check_tagged(run.tag(inputs, probabilities=cell.head == "sigmoid"))


def service(cell):
    loaded = tagger.load(cell.archive)
    # As `serve` does before it begins.
    loaded.tag("Ready.")
    app = create_app(Served(loaded, "toy"))
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
    if cell.head in ("sigmoid", "document_classifier", "numbers"):
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
    right, predicted, _ = found.counts.sum(0)
    if cell.head in ("sigmoid", "document_classifier", "numbers"):
        assert found.num_sentences
        return
    cell.check_counts(dict(zip(found.labels, predicted)), dict(zip(found.labels, right)))


def show_chain(cell):
    page = cell.path("chain.html")
    cell.allennlp("show-chain", cell.archive, TEXT, "-o", page, "--tags", *GOLD_TAGS)
    saved = tagger.load(cell.archive)
    found = trellis_of(saved, "it", instance_of(saved, WORDS))
    assert [found.tags[k] for k in found.predicted] == saved.tag(TEXT).tags
    assert "gold path" in page.read_text()


def find_label_errors(cell):
    options = ("--taggers", cell.archive, "-o", cell.folder / "errors", "--least", 0)
    cell.allennlp("find-label-errors", cell.gold(), *options)
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
        found = Predictor.from_path(output).predict_json(json.loads(cell.inputs().read_text()))
        if average == "emissions" or cell.head == "sigmoid":
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


CONSUMERS: Dict[str, Callable[[Cell], None]] = {
    "predict": predict,
    "predict-file": predict_file,
    "tagger.load": in_python,
    **{f"masks {style}": masks(style) for style in STYLES},
    **{f"format {name}": written_as(name) for name in FORMATS},
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
OVERLAPPING = ("huggingface", "conllu", "columns")
NEEDS_ENTITIES = [f"masks {style}" for style in STYLES] + [f"format {name}" for name in FORMATS]


def refused(*rules):
    """By kind, the words of the sentence that refuses it; the last rule for a kind wins."""
    return {kind: words for kinds, words in rules for kind in kinds}


ONLY_TAGGERS = (["document_classifier"], "expected a `sequence_tagger`")
TUNED = refused((PLAIN, "must hold a `sequence_tagger` with"), (["numbers"], "got plain labels"))
#: By consumer and kind, the words of the refusal. All other cells are right.
REFUSED = {
    **{
        name: refused(
            (PLAIN, "the tags of this tagger spell no entities to write"),
            (CHAINS if name.partition(" ")[2] in OVERLAPPING else [], "entities overlap"),
            (KINDS if name == "format brat" else [], "is a folder of files"),
            (["numbers"], "formats and masks are for texts"),
        )
        for name in NEEDS_ENTITIES
    },
    "tagger.load": refused(ONLY_TAGGERS),
    "ONNX": refused(
        (ENSEMBLES, "of an ensemble, export a member"),
        (["documents"], "`document_contexts` cannot be exported"),
        (["document_classifier"], "`document_classifier` cannot be exported"),
    ),
    "service": refused(ONLY_TAGGERS, (["numbers"], "must be a recording")),
    "spaCy": refused((SIGMOIDS, "must be a tagger with tags that spell"), ONLY_TAGGERS)
    | refused((["numbers"], "must be a tagger with tags that spell")),
    "evaluate --from-text": refused(
        ([*SIGMOIDS, "numbers"], "spell no entities cannot be compared"),
        ONLY_TAGGERS,
    ),
    "tune-decoding": TUNED,
    "tune-decoding --masked": TUNED,
    "sets": TUNED | refused((["numbers"], "needs a tagger of texts")),
    "sets without calibration": refused(
        (KINDS, "has no calibrated sets; run `allennlp tune-decoding"),
        (SIGMOIDS, "`sets` needs a tagger with the head `crf` or `softmax`"),
        (["numbers"], "`sets` needs tags that spell entities in BIO"),
        ONLY_TAGGERS,
    ),
    "compare-data": TUNED,
    "show-chain": refused(
        ([*SIGMOIDS, *CHAINS, "numbers"], "expected a tagger of text with one chain"), ONLY_TAGGERS
    ),
    "find-label-errors": refused((["numbers"], "for the dataset readers `column` and `document`")),
    "rank-unlabelled": refused(
        (SIGMOIDS, "must hold a `sequence_tagger` with"),
        (["numbers", "document_classifier"], "must hold a sequence tagger of texts"),
    ),
    **{
        f"ensemble {average}": refused(
            (["document_classifier"], "`members` must be of type `sequence_tagger`"),
        )
        for average in AVERAGES
    },
    "soft-labels": refused(
        ([*PLAIN, *CHAINS], "a teacher must be"), (["numbers"], "this tagger reads numbers")
    ),
    "add-label": refused(
        (set(KINDS) - {"crf", "label_chains", "documents"}, "labels can only be added to")
    ),
}


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Writes the archive of a kind at its first use."""
    folder = tmp_path_factory.mktemp("heads")
    return lambda kind: write_kind(kind, folder / kind.replace(", averaged ", "-"))


class NewHead(ChainHead):
    """A head that the package knows nothing of: all sequences that spell entities, with no scores."""

    def __init__(self, vocab, label_namespace="labels", tag_encoding=None, **kwargs):
        super().__init__(vocab, label_namespace, tag_encoding, **kwargs)
        allowed = legal_transitions(tag_encoding, self.tags)
        scores = torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)
        self.register_buffer("scores", scores, persistent=False)

    def sequence_loss(self, emissions, gold_tags, mask):
        return -log_likelihood(self.chain_scores(emissions), gold_tags, mask)

    def chain_scores(self, emissions):
        inner, start, end = self.scores[:-2, :-2], self.scores[-2, :-2], self.scores[:-2, -1]
        return ChainScores(emissions, inner, start, end)


@pytest.fixture(scope="module")
def archive_of_a_new_head(tmp_path_factory):
    heads = TaggingHead._registry[TaggingHead]
    TaggingHead.register("new")(NewHead)
    # Its distribution is that of a softmax over the same sequences.
    yield write_tagger("softmax", tmp_path_factory.mktemp("new"), head={"type": "new"})
    del heads["new"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_cell_is_right_or_refused_in_one_sentence(
    consumer, kind, archives, allennlp, tmp_path, monkeypatch, capsys
):
    cell = Cell(kind, archives(kind), tmp_path, allennlp)
    _check(consumer, cell, monkeypatch, capsys)


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_head_of_a_dozen_lines_outside_the_package_has_every_exit(
    consumer, archive_of_a_new_head, allennlp, tmp_path, monkeypatch, capsys
):
    cell = Cell("softmax", archive_of_a_new_head, tmp_path, allennlp)
    _check(consumer, cell, monkeypatch, capsys)


def _check(consumer, cell, monkeypatch, capsys):
    # Intervals are tested in `tests/tools/tuning/test_new_data.py`.
    monkeypatch.setattr(estimates, "NUM_RESAMPLES", 2)
    monkeypatch.chdir(cell.folder)
    words = REFUSED.get(consumer, {}).get(cell.kind)
    if words is None:
        CONSUMERS[consumer](cell)
        return
    with pytest.raises((SystemExit, ConfigurationError, ValueError)) as raised:
        CONSUMERS[consumer](cell)
    message = str(raised.value)
    if message == "1":
        message = capsys.readouterr().err.strip().splitlines()[-1]
    assert words in message
    assert "\n" not in message
