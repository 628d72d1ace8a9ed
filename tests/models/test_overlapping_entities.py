"""A tagger with a chain for each label learns entities that overlap, and labels that few files know."""

import json
import re

import numpy as np
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.data import Batch, DatasetReader
from allennlp.models import load_archive
from allennlp.nn.util import get_text_field_mask

import tagger
import tagger_onnx
from tagger.integrations.onnx.commands.export import export
from tagger.linear_chain import ChainScores, tag_marginals
from tagger.predictors.text_evaluation import evaluate_file
from tagger.tools.labels.addition import add_labels
from tagger.tools.labels.uncertainty import SCORES, uncertain_sentences
from tagger.tools.reports.evaluation import evaluate
from tagger.tools.reports.evaluators import span_probabilities
from tagger.tools.start.start import start
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.features import features_of
from tagger.tools.tuning.labelled_file import decoding_tuner, read_instances, settings_of
from tagger.tools.tuning.tuned_archive import rewrite_archive
from tests.conftest import CONFIGS

SENTENCES = [
    ["the O", "University B-ORG", "of I-ORG", "{} B-LOC|I-ORG", "won O"],
    ["she O", "left O", "{} B-LOC", "and O", "the O", "{} B-LOC|B-ORG", "Bank I-ORG"],
]


def corpus(*names):
    lines = ["\n".join(line.format(name) for line in each) for name in names for each in SENTENCES]
    return "\n\n".join(line.replace(" ", "\t") for line in lines) + "\n"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overlapping")
    (folder / "train.txt").write_text(corpus("York", "Oslo", "Rome", "Bonn"))
    (folder / "config.jsonnet").write_text(
        f"""(import '{CONFIGS / "toy_bilstm_crf.jsonnet"}') + {{
            label_chains:: true, num_epochs:: 40, batch_size:: 2,
            train_data_path: '{folder / "train.txt"}', validation_data_path: '{folder / "train.txt"}',
        }}"""
    )
    train_model(Params.from_file(folder / "config.jsonnet"), str(folder / "run"))
    return folder / "run" / "model.tar.gz"


def test_overlapping_entities_are_learnt_and_predicted_by_the_saved_tagger(archive):
    tagged = tagger.load(archive).tag("the University of Rome won")
    found = [(entity.label, entity.text) for entity in tagged.entities]
    assert found == [("ORG", "University of Rome"), ("LOC", "Rome")]
    assert tagged.tags == ["O", "B-ORG", "I-ORG", "U-LOC|L-ORG", "O"]
    assert all(0.5 < entity.probability < 1 for entity in tagged.entities)


def test_every_part_of_the_chains_gets_a_gradient(archive):
    model = tagger.load(archive).model.train()
    emissions = torch.randn(2, 4, len(model.tags), requires_grad=True)
    gold = torch.zeros(2, 4, len(model.tags), dtype=torch.long)
    model.head.sequence_loss(emissions, gold, torch.ones(2, 4).bool()).sum().backward()
    for name, weights in model.head.named_parameters():
        assert not weights.requires_grad or bool(weights.grad.any()), name


def test_marks_of_overlapping_entities_repeat_no_text(archive):
    page = tagger.load(archive).tag("the University of Rome won")._repr_html_()
    text = re.sub("<small.*?</small>|<[^>]*>", "", page)
    assert text.replace(" ", "") == "theUniversityofRomewon"
    assert "LOC, ORG" in page or "ORG, LOC" in page


def test_settings_by_label_change_one_chain(archive):
    model = tagger.load(archive)
    assert model.biases == {"LOC": 0.0, "ORG": 0.0}
    changed = model.with_thresholds(ORG=1.0).with_bias(LOC=0.5)
    found = [entity.label for entity in changed.tag("the University of Rome won").entities]
    assert found == ["LOC"]
    assert changed.biases["LOC"] == 0.5
    assert len(model.tag("the University of Rome won").entities) == 2


def test_tuning_finds_thresholds_of_each_chain(archive):
    model = tagger.load(archive).model
    reader = tagger.load(archive).predictor.dataset_reader
    data = str(archive.parent.parent / "train.txt")
    tuner = decoding_tuner(model, read_instances(reader, data))
    assert tuner.num_sentences == 8
    assert tuner.labels == ["LOC", "ORG"]
    right, predicted, gold = tuner.counts(Settings({}, {}))
    assert gold.tolist() == [12, 8]
    assert right.tolist() == predicted.tolist() == gold.tolist()
    strict = tuner.counts(Settings({}, {"ORG": 1.0}))
    assert strict[1].tolist() == [12, 0]


def test_an_evaluation_from_text_compares_each_label_by_itself(archive, allennlp, capsys):
    model, data = tagger.load(archive), str(archive.parent.parent / "train.txt")
    reader = model.predictor.dataset_reader
    metrics = evaluate_file(model, reader, data)
    assert (metrics["num-gold-LOC"], metrics["num-gold-ORG"]) == (12, 8)
    for name in ("f1-measure-overall", "character-f1-measure-overall", "exact-f1-measure-overall"):
        assert metrics[name] == 1
    assert metrics["masked-sensitive-characters"] == metrics["texts-without-leak"] == 1
    found = evaluate_file(model.with_thresholds(ORG=1.0), reader, data)
    assert (found["recall-LOC"], found["recall-ORG"], found["character-recall-ORG"]) == (1, 0, 0)
    # `York` in `University of York` is still masked.
    assert 0 < found["masked-sensitive-characters"] < 1
    allennlp("evaluate", archive, data, "--from-text")
    assert re.search(r"sensitive characters that are masked +1\.0000", capsys.readouterr().out)


def test_masks_hide_what_a_promise_counts(archive, tmp_path, allennlp):
    texts = [" ".join(line.format("Rome").split()[0] for line in each) for each in SENTENCES]
    (tmp_path / "in.txt").write_text("\n".join(texts))
    command = ["predict-file", archive, tmp_path / "in.txt", "--mask"]
    allennlp(*command, "labels", "-o", tmp_path / "out.txt")
    masked = (tmp_path / "out.txt").read_text().splitlines()
    assert masked == ["the [ORG] won", "she left [LOC] and the [ORG]"]
    model = tagger.load(archive).model
    reader = tagger.load(archive).predictor.dataset_reader
    instances = list(read_instances(reader, str(archive.parent.parent / "train.txt")))
    tuner = decoding_tuner(model, instances, in_order=True)
    lines = [" ".join(map(str, each["tokens"].tokens)) for each in instances]
    (tmp_path / "all.txt").write_text("\n".join(lines))
    for threshold in (1.0, 0.5, 0.05, 0.005):
        (promised,) = tuner.masks(settings_of(model), [threshold])
        output = tmp_path / f"{threshold}.txt"
        above = [] if threshold == 1 else ["--mask-above", threshold]
        command = ["predict-file", archive, tmp_path / "all.txt", "--mask", "same-length"]
        allennlp(*command, *above, "-o", output)
        is_hidden = [
            set(masked[word.start() : word.end()]) == {"*"}
            for line, masked in zip(lines, output.read_text().splitlines(), strict=True)
            for word in re.finditer(r"\S+", line)
        ]
        assert is_hidden == promised.of_tokens.tolist()


def test_a_config_for_overlapping_entities_says_what_one_chain_would_lose(archive, tmp_path):
    train = archive.parent.parent / "train.txt"
    found = start([train, train], tmp_path / "mine.jsonnet")
    assert "  label_chains:: true," in found.files[tmp_path / "mine.jsonnet"]
    chosen = next(line for line in found.said if "head" in line)
    assert "head label_chains, since entities overlap: one CRF would lose 8 of 20;" in chosen


def test_the_exported_tagger_agrees(archive, tmp_path):
    export(load_archive(archive), tmp_path / "tagger.onnx")
    exported, loaded = tagger_onnx.load(tmp_path / "tagger.onnx"), tagger.load(archive)
    asked = {"probabilities": True, "leak_labels": ["LOC"]}
    for text in ("the University of Rome won", "she left Oslo and the Oslo Bank", "x"):
        found, wanted = exported.tag(text, **asked), loaded.tag(text, **asked)
        assert found.tags == wanted.tags
        for one, other in zip(found.entities, wanted.entities, strict=True):
            assert one[:6] == other[:6]
            assert one.probability == pytest.approx(other.probability, abs=1e-5)
        assert found.leak_probability == pytest.approx(wanted.leak_probability, abs=1e-5)
        assert found.expected_missed == pytest.approx(wanted.expected_missed, abs=1e-5)
        for one, other in zip(found.probabilities, wanted.probabilities, strict=True):
            assert one == pytest.approx(other, abs=1e-5)


@pytest.fixture(scope="module")
def model(archive):
    return load_archive(archive).model.eval()


def read(archive, tmp_path, text, **options):
    (tmp_path / "data.txt").write_text(text)
    reader = load_archive(archive).config["dataset_reader"].as_dict(quiet=True)
    return DatasetReader.from_params(Params({**reader, **options})), str(tmp_path / "data.txt")


@torch.no_grad()
def chains_of(model, instances):
    """The chain and mask of each label, for sentences of one length."""
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    tokens = batch.as_tensor_dict()["tokens"]
    mask = get_text_field_mask(tokens)
    for chain, scores in model.head.chains.with_emissions(model.emissions(tokens, mask)):
        yield chain.chain_scores(scores), mask


def test_features_of_sentences_are_summed_over_the_chains(archive, model, tmp_path):
    reader, path = read(archive, tmp_path, corpus("Bern", "Graz", "York"))
    instances = [each for each in reader.read(path) if len(each["tokens"]) == 5]
    found = features_of(model, instances)
    assert (len(found.num_words), found.groups.number) == (3, 3)
    assert found.num_gold.tolist() == [[1, 1]] * 3
    assert found.has_gold.all()
    doubt = 0
    for index, (chain, mask) in enumerate(chains_of(model, instances)):
        marginals = tag_marginals(chain, mask)
        doubt += torch.special.entr(marginals).sum((1, 2))
        tags = model.head.chains.by_label[index].tags
        opens = [tag[0] in "BU" for tag in tags]
        expected = marginals[:, :, opens].sum((1, 2))
        assert found.num_expected[:, index] == pytest.approx(expected.numpy(), abs=1e-4)
    assert found.sums["doubt about a word's tag"] == pytest.approx(doubt.numpy(), abs=1e-4)
    numbers = np.bincount(found.candidates.sentences[found.candidates.is_predicted], minlength=3)
    assert numbers.tolist() == [len(each["entities"]) for each in outputs(model, instances)]
    reader, path = read(archive, tmp_path, corpus("Bern"), labels=["LOC"])
    assert not features_of(model, list(reader.read(path))).has_gold.any()


def outputs(model, instances):
    return model.forward_on_instances(instances)


@pytest.mark.parametrize("score", ["entropy", "least_confidence", "expected_missed"])
def test_the_uncertainty_about_a_question_is_the_sum_over_the_chains(
    score, archive, model, tmp_path
):
    reader, path = read(archive, tmp_path, corpus("Bern", "Graz"))
    instances = [each for each in reader.read(path) if len(each["tokens"]) == 5]
    for each in instances:
        del each.fields["tags"]
    places = np.array([[0, 0, 4], [1, 0, 4]])
    expected = 0
    for head, (chain, mask) in zip(model.head.chains.by_label, chains_of(model, instances)):
        chain = ChainScores(*(each.double() for each in chain))
        expected += SCORES[score](head.tags, head.tag_encoding)(chain, places, mask) / 5
    found = list(uncertain_sentences(model, instances, score=score))
    assert [each.questions for each in found] == [[[0, 4]]] * 2
    assert np.concatenate([each.scores for each in found]) == pytest.approx(expected, abs=1e-6)
    predicted = [
        [(e["label"], (e["first"], e["last"])) for e in output["entities"]]
        for output in outputs(model, instances)
    ]
    assert [sorted(s for s, _ in each.entities) for each in found] == list(map(sorted, predicted))
    spans = uncertain_sentences(model, instances, by="span", least_doubt=1e-4)
    for each, whole in zip(spans, found):
        assert all(0 <= first <= last < 5 for first, last in each.questions)
        assert each.num_expected == pytest.approx(whole.num_expected)


def test_a_report_counts_and_shows_entities_that_overlap(archive, model, tmp_path):
    wrong = corpus("Bern", "Graz").replace("of\tI-ORG", "of\tB-ORG")
    reader, path = read(archive, tmp_path, wrong)
    model.get_metrics(reset=True)
    evaluation = evaluate(model, reader, path, 10, 0)
    metrics = evaluation.metrics
    for label, (right, predicted, gold) in zip(evaluation.labels, evaluation.counts.sum(0).T):
        assert predicted == metrics[f"num-predicted-{label}"]
        assert gold == metrics[f"num-gold-{label}"]
        assert right == pytest.approx(metrics[f"recall-{label}"] * gold)
    assert evaluation.num_shown == 4
    lines = next(each.lines for each in evaluation.examples if "Bern" in str(each.lines))
    assert {"gold", "gold, overlapping", "predicted"} <= {*lines}
    notes = {note for each in lines.values() for segment in each for note in segment.notes}
    assert {note.label for note in notes} == {"LOC", "ORG"}
    assert all(0 <= note.probability <= 1 for note in notes)
    # Labels are compared with themselves alone: the right LOC is not a wrong ORG.
    assert {note.verdict for note in notes if note.label == "LOC"} <= {"right", "missed"}


def test_a_report_leaves_out_labels_that_a_file_does_not_annotate(archive, model, tmp_path):
    reader, path = read(archive, tmp_path, corpus("Bern", "Graz"), labels=["LOC"])
    evaluation = evaluate(model, reader, path, 10, 0)
    assert evaluation.num_shown == 4
    assert evaluation.counts[:, :, evaluation.labels.index("ORG")].sum() == 0
    assert {item for example in evaluation.examples for item, _ in example.errors()} <= {"LOC"}


def test_probabilities_of_gold_entities_are_those_of_their_chains(archive, model, tmp_path):
    reader, path = read(archive, tmp_path, corpus("York", "Oslo"))
    instances = list(reader.read(path))
    found = outputs(model, instances)
    spans = [[(e["label"], (e["first"], e["last"])) for e in each["entities"]] for each in found]
    expected = [[e["probability"] for e in each["entities"]] for each in found]
    assert sum(map(len, expected)) > 4
    for actual, own in zip(span_probabilities(model, instances, spans), expected):
        assert actual == pytest.approx(own, abs=1e-5)


MORE = json.dumps({"trainer.num_epochs": 40})


def test_a_new_label_is_one_more_chain_and_the_others_stay(archive, tmp_path, capsys):
    # `GROUP` comes before `LOC` and `ORG`, so the old chains move. `LOC` is not marked in the file.
    new = corpus("York", "Oslo", "Rome", "Bonn", "Bern").replace("B-LOC|I-ORG", "I-GROUP")
    new = new.replace("B-LOC|B-ORG", "B-GROUP").replace("B-LOC", "O").replace("-ORG", "-GROUP")
    (tmp_path / "new.txt").write_text(new)
    tuned = tmp_path / "tuned.tar.gz"
    rewrite_archive(archive, tuned, {"decode_bias": {"LOC": 0.25}})
    path = add_labels(tuned, str(tmp_path / "new.txt"), tmp_path / "run", MORE, most_lost=0.1)
    assert "Bias" not in capsys.readouterr().out
    old, made = load_archive(tuned), load_archive(path)
    assert made.model.head.labels == ["GROUP", "LOC", "ORG"]
    assert made.model.head.decoder.decode_bias == {"LOC": 0.25}
    sentences = ["the University of Rome won", "she left Oslo and the Bonn Bank", "Ada"]
    for sentence in sentences:
        before, after = (tagger.load(each).tag(sentence).entities for each in (tuned, path))
        kept = [entity for entity in after if entity.label != "GROUP"]
        assert [e[:3] for e in kept] == [e[:3] for e in before]
        assert [e.probability for e in kept] == pytest.approx(
            [e.probability for e in before], abs=1e-6
        )
    found = [e.text for e in tagger.load(path).tag(sentences[0]).entities if e.label == "GROUP"]
    assert found == ["University of Rome"]
    kept = made.model.state_dict()
    for name, weights in old.model.state_dict().items():
        name = re.sub(r"chains\.(\d)", lambda match: f"chains.{int(match[1]) + 1}", name)
        own = kept[name][tuple(map(slice, weights.shape))]
        torch.testing.assert_close(own, weights, rtol=0, atol=0, msg=name)
    first = made.model.head.chains.by_label[0].crf.transitions
    mean = sum(each.crf.transitions for each in old.model.head.chains.by_label) / 2
    assert not torch.equal(first, mean)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """More sentences, some of them wrong, on which promises and corrections are fitted."""
    path = tmp_path_factory.mktemp("labelled") / "labelled.txt"
    right = corpus("York", "Oslo", "Rome", "Bonn", "Bern", "Graz") * 4
    wrong = corpus("York", "Oslo").replace("B-LOC|I-ORG", "I-ORG").replace("B-LOC|B-ORG", "B-ORG")
    path.write_text("\n".join([right.replace("\t", " "), wrong.replace("\t", " ")]))
    return path


def test_promises_hold_for_each_chain_and_are_tested_on_new_data(
    archive, labelled, tmp_path, allennlp, capsys
):
    output = tmp_path / "promised.tar.gz"
    targets = ("--recall", "LOC=0.5", "--precision", "ORG=0.5", "--confidence", "0.8")
    allennlp("tune-decoding", archive, labelled, "-o", output, *targets)
    printed = capsys.readouterr().out
    assert printed.count("Promised: ") == 2
    allennlp("evaluate", output, labelled, "--output-file", tmp_path / "metrics.json")
    assert "Promises on" in capsys.readouterr().out
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["recall-LOC"] > 0.5
    assert metrics["precision-ORG"] > 0.5
    # The tuner counts what the archive predicts.
    made = load_archive(output)
    instances = read_instances(made.validation_dataset_reader, str(labelled))
    tuner = decoding_tuner(made.model, instances, in_order=True)
    _, predicted, gold = tuner.counts(settings_of(made.model))
    for label, *numbers in zip(tuner.labels, predicted, gold):
        assert numbers == [metrics[f"num-{kind}-{label}"] for kind in ("predicted", "gold")]


def test_leaks_and_masks_are_promised_over_all_chains(
    archive, labelled, tmp_path, allennlp, capsys
):
    output = tmp_path / "promised.tar.gz"
    options = ("--leak", "LOC=0.9", "--confidence", "0.8")
    allennlp("tune-decoding", archive, labelled, "-o", output, *options)
    assert "Promised: " in capsys.readouterr().out
    model = load_archive(archive).model
    reader = load_archive(archive).validation_dataset_reader
    instances = list(reader.read(labelled))
    tuner = decoding_tuner(model, instances, in_order=True)
    (masking,) = tuner.masks(Settings({}, {}), [1.0])
    found = [[e["first"] + i for e in o["entities"] for i in range(e["last"] - e["first"] + 1)]
             for o in outputs(model.eval(), instances)]  # fmt: skip
    lengths = [len(each["tokens"]) for each in instances]
    masked = [at in own for own, length in zip(found, lengths) for at in range(length)]
    assert masking.of_tokens.tolist() == masked
    assert tuner.sensitive_tokens().shape == (sum(lengths),)


def test_corrected_probabilities_change_no_entity_on_any_route(
    archive, labelled, tmp_path, allennlp, capsys
):
    output = tmp_path / "recalibrated.tar.gz"
    allennlp("tune-decoding", archive, labelled, "-o", output, "--recalibrate")
    printed = capsys.readouterr().out
    before, after = map(
        float, re.search(r"error ([\d.]+) before, ([\d.]+) after", printed).groups()
    )
    assert after < before + 0.05
    export(load_archive(output), tmp_path / "tagger.onnx")
    run = tagger_onnx.load(tmp_path / "tagger.onnx")
    sentence = "the University of Rome won and she left Oslo and the Bonn Bank"
    plain, corrected = (tagger.load(each).tag(sentence).entities for each in (archive, output))
    assert [each[:6] for each in plain] == [each[:6] for each in corrected]
    assert [each.probability for each in plain] != [each.probability for each in corrected]
    for entity, other in zip(corrected, run.tag(sentence).entities, strict=True):
        assert entity[:6] == other[:6]
        assert entity.probability == pytest.approx(other.probability, abs=1e-4)
