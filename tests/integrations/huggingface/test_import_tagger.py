"""Imported taggers use the classifier's logits as emissions and work with every command."""

import json
import tarfile

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch
from allennlp.models import load_archive
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    BertConfig,
    BertForTokenClassification,
    BertModel,
)

import tagger
from tagger.integrations.huggingface import CrfForTokenClassification
from tagger.integrations.huggingface.import_tagger import import_tagger
from tagger.integrations.huggingface.transition_biases import transition_biases
from tests.integrations.huggingface.backbones import random_model, save_backbone
from tests.integrations.huggingface.classifiers import ARCHITECTURES, TAGS, save_classifier

WORDS = "Ada Lovelace met unbelievably many mathematicians in London on 10 December 1815 .".split()


@pytest.fixture(scope="module", params=ARCHITECTURES)
def imported(request, tmp_path_factory):
    """A classifier's folder and the archive made from it."""
    folder = tmp_path_factory.mktemp(request.param)
    source = save_classifier(request.param, folder / "classifier")
    found = import_tagger(source, folder / "model.tar.gz")
    assert (found.tags, found.encoding) == (TAGS, "BIO")
    assert found.difference < 1e-5
    return source, folder / "model.tar.gz"


def logits_of(source, words):
    """The classifier's logits at the first piece of each word, computed by transformers alone."""
    model = AutoModelForTokenClassification.from_pretrained(source).eval()
    tokenizer = AutoTokenizer.from_pretrained(source, add_prefix_space=True)
    encoded = tokenizer([words], is_split_into_words=True, return_tensors="pt")
    of_piece = encoded.word_ids(0)
    with torch.no_grad():
        logits = model(encoded["input_ids"]).logits[0]
    return logits[[of_piece.index(word) for word in range(len(words))]]


def test_emissions_are_the_logits_at_first_pieces(imported):
    source, archive = imported
    loaded = load_archive(archive)
    model = loaded.model.eval()
    instance = loaded.dataset_reader.text_to_instance(WORDS)
    loaded.dataset_reader.apply_token_indexers(instance)
    batch = Batch([instance])
    batch.index_instances(model.vocab)
    tokens = batch.as_tensor_dict()["tokens"]
    with torch.no_grad():
        emissions = model.emissions(tokens, tokens["tokens"]["mask"])[0]
    logits = logits_of(source, WORDS)
    assert logits.std() > 0.1
    torch.testing.assert_close(emissions[:, : len(TAGS)], logits, atol=1e-5, rtol=1e-5)
    # Without constraints, which are saved as a weight as in AllenNLP, the best path is the argmax.
    model.head.crf._constraint_mask.fill_(1)
    tags = model.forward_on_instance(instance)["tags"]
    assert tags == [TAGS[k] for k in logits.argmax(1).tolist()]


def test_with_constraints_the_path_is_legal_and_probabilities_are_exact(imported):
    source, archive = imported
    [tagged] = tagger.load(archive).tag([WORDS])
    logits = logits_of(source, WORDS[:1])[0].double().softmax(0)
    before = "O"
    for tag in tagged.tags:
        assert not tag.startswith("I-") or before[1:] == tag[1:]
        before = tag
    # For a single token the legal tags are O, B-PER and B-LOC.
    [one] = tagger.load(archive).tag([WORDS[:1]], probabilities=True)
    legal = logits[[0, 1, 3]] / logits[[0, 1, 3]].sum()
    found = [one.probabilities[0][TAGS[k]] for k in (0, 1, 3)]
    np.testing.assert_allclose(found, legal, atol=1e-5)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_classifier("bert", tmp_path_factory.mktemp("bert") / "classifier")


def test_it_can_be_imported_from_python_and_does_not_need_the_folder_afterwards(bert):
    loaded = tagger.from_hugging_face(bert)
    assert loaded.tag("Ada met Bob.").tokens == ["Ada", "met", "Bob", "."]


@pytest.mark.parametrize(
    ("tags", "encoding", "added"),
    [
        (["O", "B-A", "I-A"], "BIO", []),
        (["O", "I-A", "B-B", "I-B"], "IOB1", ["B-A"]),
        (["O", "B-A", "I-A", "E-A", "S-A"], "IOBES", []),
        (["B-A", "I-A", "L-A", "U-A", "O"], "BIOUL", []),
        (["NOUN", "VERB", "X"], None, []),
    ],
)
def test_tags_missing_from_the_encoding_are_added_last_and_never_predicted(
    tags, encoding, added, tmp_path
):
    source = save_classifier("bert", tmp_path / "classifier", tags)
    found = import_tagger(source, tmp_path / "model.tar.gz")
    assert (found.tags, found.encoding) == (tags, encoding)
    loaded = tagger.load(tmp_path / "model.tar.gz")
    [tagged] = loaded.tag([WORDS], probabilities=True)
    assert list(tagged.probabilities[0]) == [*tags, *added]
    assert all(row[tag] < 1e-20 for row in tagged.probabilities for tag in added)


def test_an_entity_of_labels_without_prefixes_has_the_probability_of_independent_tokens(tmp_path):
    tags = ["PER", "O", "LOC", "[PAD]"]
    torch.manual_seed(1)
    source = save_classifier("bert", tmp_path / "classifier", tags)
    found = import_tagger(source, tmp_path / "model.tar.gz")
    assert (found.encoding, found.is_io, found.left_out) == ("BIO", True, ["[PAD]"])
    logits = logits_of(source, WORDS)[:, :3].double()
    marginals = logits.softmax(1).numpy()
    loaded = tagger.load(tmp_path / "model.tar.gz")
    [tagged] = loaded.tag([WORDS], candidates=1e-3)
    assert [tag.rpartition("-")[2] for tag in tagged.tags] == [tags[k] for k in logits.argmax(1)]
    # All entities: a label's probability inside, and that of all others on both sides.
    expected = {}
    for index, label in ((0, "PER"), (2, "LOC")):
        inside = np.concatenate([[0], marginals[:, index], [0]])
        for first in range(1, len(inside) - 1):
            for last in range(first, len(inside) - 1):
                around = (1 - inside[first - 1]) * (1 - inside[last + 1])
                probability = inside[first : last + 1].prod() * around
                expected[label, first - 1, last - 1] = probability
    candidates = {(e.label, e.first, e.last): e.probability for e in tagged.candidates}
    assert candidates.keys() == {key for key, each in expected.items() if each >= 1e-3}
    assert len(candidates) > 10
    entities = {(e.label, e.first, e.last): e.probability for e in tagged.entities}
    assert entities
    for key, probability in [*candidates.items(), *entities.items()]:
        assert probability == pytest.approx(expected[key], rel=1e-4)


def test_a_tagger_of_labels_without_prefixes_can_be_tuned_and_exported(allennlp, tmp_path, capsys):
    source = save_classifier("bert", tmp_path / "classifier", ["O", "PER", "LOC", "X"])
    archive = tmp_path / "model.tar.gz"
    allennlp("import-hf", source, "-o", archive)
    assert (
        "neighbouring words of one label are an entity), of PER, LOC, X" in capsys.readouterr().out
    )
    (tmp_path / "io.txt").write_text(
        "Ada PER\nByron PER\nmet O\nher O\nin O\nParis LOC\n. O\n\n" * 6
    )
    tuned = tmp_path / "tuned.tar.gz"
    allennlp("tune-decoding", archive, tmp_path / "io.txt", "--macro-f1", "-o", tuned)
    allennlp("export", tuned, "-o", tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").exists()


def test_a_model_of_our_trainer_head_keeps_its_crf(tmp_path):
    backbone = save_backbone("bert", tmp_path / "bert")
    model = random_model(backbone)
    model.save_pretrained(tmp_path / "model")
    AutoTokenizer.from_pretrained(backbone).save_pretrained(tmp_path / "model")
    import_tagger(tmp_path / "model", tmp_path / "model.tar.gz")
    crf = load_archive(tmp_path / "model.tar.gz").model.head.crf
    again = CrfForTokenClassification.from_pretrained(tmp_path / "model")
    assert torch.equal(crf.transitions, again.crf.transitions)
    assert torch.equal(crf.end_transitions, again.crf.end_transitions)
    assert crf.transitions.abs().sum() > 1


NAMES = (
    *("background_stay", "background_to_start", "inside_to_continue"),
    *("inside_to_end", "end_to_background", "end_to_start"),
)
BIASES = {f"transition_bias_{name}": value for value, name in enumerate(NAMES, start=1)}


@pytest.mark.parametrize(
    "content",
    [BIASES, {"operating_points": {"default": {"biases": BIASES}}}],
    ids=["flat", "whole"],
)
def test_transition_biases_are_assigned_by_prefix(content, tmp_path):
    path = tmp_path / "biases.json"
    path.write_text(json.dumps(content))
    expected = [
        # O, B, I, E, S
        [1, 2, 0, 0, 2],
        [0, 0, 3, 4, 0],
        [0, 0, 3, 4, 0],
        [5, 6, 0, 0, 6],
        [5, 6, 0, 0, 6],
    ]
    for tags in (["O", "B-A", "I-A", "E-A", "S-A"], ["O", "B-A", "I-A", "L-A", "U-A"]):
        assert transition_biases(path, tags).tolist() == expected


def test_transition_biases_reach_the_archive(tmp_path):
    source = save_classifier("bert", tmp_path / "classifier", ["O", "B-A", "I-A", "E-A", "S-A"])
    (tmp_path / "biases.json").write_text(json.dumps({"background_to_start": -3}))
    import_tagger(source, tmp_path / "m.tar.gz", transition_bias=tmp_path / "biases.json")
    transitions = load_archive(tmp_path / "m.tar.gz").model.head.crf.transitions
    assert transitions[0].tolist() == [0, -3, 0, 0, -3]


@pytest.mark.parametrize(
    ("content", "tags", "message"),
    [
        ("{", TAGS, "expected JSON with numbers under background_stay"),
        ('{"background_to_begin": 1}', ["O", "S-A", "B-A", "I-A", "E-A"], "'background_to_begin'"),
        (json.dumps(BIASES), TAGS, "which mark the end of an entity; got O, B-PER"),
    ],
)
def test_wrong_transition_biases_are_refused(content, tags, message, tmp_path):
    (tmp_path / "biases.json").write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        transition_biases(tmp_path / "biases.json", tags)


def with_mixed_tags(bert, folder, monkeypatch):
    return save_classifier("bert", folder, ["O", "B-A", "I-A", "MISC"])


def without_classifier(bert, folder, monkeypatch):
    config = BertConfig.from_pretrained(bert)
    BertModel(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(bert).save_pretrained(folder)
    return folder


def with_another_layer(bert, folder, monkeypatch):
    init = BertForTokenClassification.__init__

    def more(self, config):
        init(self, config)
        self.extra = torch.nn.LSTM(2, 2)

    monkeypatch.setattr(BertForTokenClassification, "__init__", more)
    AutoModelForTokenClassification.from_pretrained(bert).save_pretrained(folder)
    AutoTokenizer.from_pretrained(bert).save_pretrained(folder)
    return folder


def with_other_logits(bert, folder, monkeypatch):
    forward = BertForTokenClassification.forward

    def doubled(self, *args, **kwargs):
        output = forward(self, *args, **kwargs)
        output.logits = output.logits * 2
        return output

    monkeypatch.setattr(BertForTokenClassification, "forward", doubled)
    return bert


@pytest.mark.parametrize(
    ("source_of", "message"),
    [
        (lambda *_: "nowhere", "expected a folder with a `config.json`"),
        (with_mixed_tags, r"with a prefix \(O, B-A, I-A\) and others without \(MISC\)"),
        (without_classifier, "lack classifier.bias, classifier.weight"),
        (with_another_layer, r"has the part `extra` \(LSTM\)"),
        (with_other_logits, "computes more than its layers show"),
    ],
)
def test_models_that_cannot_be_imported_are_refused(
    source_of, message, bert, tmp_path, monkeypatch
):
    source = source_of(bert, tmp_path / "model", monkeypatch)
    with pytest.raises(ConfigurationError, match=message):
        import_tagger(source, tmp_path / "model.tar.gz")
    assert not (tmp_path / "model.tar.gz").exists()


def test_the_command_writes_an_archive_for_other_commands(bert, allennlp, tmp_path, capsys):
    archive = tmp_path / "model.tar.gz"
    allennlp("import-hf", bert, "-o", archive)
    assert "5 tags (BIO)" in capsys.readouterr().out
    with tarfile.open(archive) as members:
        assert "config.json" in members.getnames()
    gold = tmp_path / "gold.txt"
    gold.write_text("Ada B-PER\nmet O\nBob B-PER\n\nParis B-LOC\n\n" * 3)
    allennlp("evaluate", archive, gold)
    allennlp("tune-decoding", archive, gold, "--macro-f1", "-o", tmp_path / "tuned.tar.gz")
    allennlp("predict-file", tmp_path / "tuned.tar.gz", gold, "-o", tmp_path / "out.conll")
    assert (tmp_path / "out.conll").exists()
    allennlp("soft-labels", archive, gold, "-o", tmp_path / "soft.npz")
    assert (tmp_path / "soft.npz").exists()
    with pytest.raises(SystemExit):
        allennlp("import-hf", bert, "-o", archive)
