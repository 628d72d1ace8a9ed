"""The sequence tagger with documents as instances."""

import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask
from allennlp.predictors import Predictor

from tagger.models import SequenceTaggerEnsemble
from tests.documents import document, documents_config
from tests.models.batches import tensors

CONTEXTS = ["same_words", "pooled_states"]


def read_both_ways(reader, path):
    """Returns a file as sentences and as documents."""
    instances = []
    for documents in (None, "docstart"):
        own = reader.duplicate()
        own["documents"] = documents
        instances.append([*DatasetReader.from_params(own).read(path)])
    return instances


def warnings_in(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Builds an untrained model, a batch of documents and a batch of their sentences."""
    folder = tmp_path_factory.mktemp("built")

    def built(contexts=(), **model):
        params = documents_config(folder, contexts)
        sentences, documents = read_both_ways(params["dataset_reader"], params["train_data_path"])
        vocab = Vocabulary.from_instances(sentences)
        for key, value in model.items():
            params["model"][key] = value
        torch.manual_seed(0)
        return Model.from_params(params["model"], vocab=vocab), documents, sentences

    return built


@pytest.mark.slow
def test_the_document_disambiguates_its_sentences(trained_on_documents):
    metrics = json.loads((trained_on_documents / "metrics.json").read_text())
    assert metrics["best_validation_f1-measure-overall"] > 0.95
    predictor = Predictor.from_path(trained_on_documents / "model.tar.gz", import_plugins=False)
    for told, label in (["Lima", "said", "yes"], "PER"), (["in", "Lima", "rained"], "LOC"):
        for sentences in ([["Lima", ":"], told], [told, ["Lima", ":"]]):
            entities = predictor.predict_json({"sentences": sentences})["entities"]
            assert [entity["label"] for entity in entities] == [label, label]


@pytest.mark.parametrize("loss_reduction", ["sentence", "token", "sum"])
def test_without_contexts_documents_are_tagged_like_their_sentences(built, loss_reduction):
    model, documents, sentences = built(loss_reduction=loss_reduction)
    model.eval()
    outputs, metrics = [], []
    for instances in (documents, sentences):
        outputs.append(model(**tensors(model, instances)))
        metrics.append(model.get_all_metrics(reset=True))
    torch.testing.assert_close(outputs[0]["loss"], outputs[1]["loss"])
    assert metrics[0] == pytest.approx(metrics[1])
    assert metrics[0]["num-gold-overall"] == 32
    of_documents, of_sentences = map(model.make_output_human_readable, outputs)
    for name in ("tags", "words"):
        assert sum(of_documents[name], []) == sum(of_sentences[name], [])
    found = [sum(output["entities"], []) for output in (of_documents, of_sentences)]
    assert [each["label"] for each in found[0]] == [each["label"] for each in found[1]]
    assert [each["probability"] for each in found[0]] == pytest.approx(
        [each["probability"] for each in found[1]]
    )
    assert of_documents["sentence_lengths"][0] == [2, 3]
    assert "sentence_lengths" not in of_sentences


@pytest.mark.parametrize("contexts", [[context] for context in CONTEXTS] + [CONTEXTS])
def test_predictions_do_not_depend_on_the_batch(built, contexts):
    model, documents, _ = built(contexts)
    model.eval()
    rows = model(**tensors(model, documents))["predicted_tags"].tolist()
    emissions = emissions_of(model, documents)
    for instance, together, row in zip(documents, emissions, rows):
        (alone,) = emissions_of(model, [instance])
        torch.testing.assert_close(alone, together)
        assert (
            model(**tensors(model, [instance]))["predicted_tags"][0].tolist() == row[: len(alone)]
        )


def emissions_of(model, instances):
    """Returns the emissions of each document, (T, K)."""
    batch = tensors(model, instances)
    mask = get_text_field_mask(batch["tokens"])
    rows = model.sentence_rows(mask, batch["sentence_lengths"], batch["word_ids"])
    emissions = rows.join(model.emissions(batch["tokens"], mask, rows))
    return [each[own].detach() for each, own in zip(emissions, mask)]


@pytest.mark.parametrize("context", CONTEXTS)
def test_contexts_see_the_other_sentence_but_not_the_other_document(built, context):
    model, documents, _ = built([context])
    model.eval()
    # These documents share a name; only the other sentence differs.
    first, second = emissions_of(model, documents[:2])
    assert not torch.allclose(first[:2], second[:2])


@pytest.mark.parametrize("context", CONTEXTS)
def test_every_parameter_gets_a_gradient(built, context):
    model, documents, _ = built([context])
    model.train()
    model(**tensors(model, documents))["loss"].backward()
    without = [name for name, each in model.named_parameters() if each.grad is None]
    assert without == ["head.crf._constraint_mask"]


def test_sets_of_gold_tags_equal_those_of_the_sentences(tmp_path, built):
    model, _, _ = built()
    model.eval()
    path = tmp_path / "unknown.txt"
    path.write_text(document("Lima", "PER").replace("said O", "said ?") * 2)
    reader = documents_config(tmp_path, unknown_tag="?")["dataset_reader"]
    sentences, documents = read_both_ways(reader, path)
    losses = [model(**tensors(model, instances))["loss"] for instances in (sentences, documents)]
    torch.testing.assert_close(*losses)


def test_training_with_contexts_on_sentences_is_refused(built):
    model, _, sentences = built(CONTEXTS)
    model.train()
    with pytest.raises(ConfigurationError, match="`document_contexts` needs documents"):
        model(**tensors(model, sentences))


def test_with_contexts_single_sentences_are_tagged_with_one_warning(built, caplog):
    plain, _, sentences = built()
    plain.eval().forward_on_instances(sentences)
    model, documents, sentences = built(CONTEXTS)
    model.eval()
    model(**tensors(model, documents))
    assert warnings_in(caplog) == []
    for _ in range(2):
        output = model.forward_on_instances(sentences[:2])
    assert [len(each["tags"]) for each in output] == [2, 3]
    (warning,) = warnings_in(caplog)
    assert "set `documents` of the dataset reader" in warning


@pytest.mark.parametrize("average", ["emissions", "marginals"])
def test_an_ensemble_tags_documents_like_its_only_member(built, average):
    member, documents, _ = built(CONTEXTS, head={"type": "softmax", "constrain_decoding": True})
    member.eval()
    ensemble = SequenceTaggerEnsemble(member.vocab, [member], average).eval()
    assert ensemble.uses_documents
    expected, actual = (
        [each["tags"] for each in model.forward_on_instances(documents)]
        for model in (member, ensemble)
    )
    if average == "emissions":
        assert actual == expected
    assert [len(tags) for tags in actual] == [5, 6] * (len(documents) // 2)


def test_multi_label_documents_are_tagged_like_their_sentences(tmp_path):
    path, of_labels = tmp_path / "labels.txt", {"label_separator": "|", "source_encoding": None}
    path.write_text("-DOCSTART- O\n\nAda A|B\nleft O\n\nWhy A\n\n-DOCSTART- O\n\nLima B\n")
    params = documents_config(tmp_path, [], tag_encoding=None, **of_labels)
    params["model"]["head"] = {"type": "sigmoid"}
    of_sentences, of_documents = read_both_ways(params["dataset_reader"], path)
    model = Model.from_params(params["model"], vocab=Vocabulary.from_instances(of_sentences))
    model.eval()
    losses, probabilities = [], []
    for instances in (of_documents, of_sentences):
        losses.append(model(**tensors(model, instances))["loss"])
        outputs = model.forward_on_instances(instances)
        probabilities.append([token for each in outputs for token in each["probabilities"]])
    torch.testing.assert_close(*losses)
    assert len(probabilities[0]) == 4
    for token, expected in zip(*probabilities):
        assert token == pytest.approx(expected)
