import json
import random
from unittest.mock import Mock

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.nn.util import move_to_device

from tagger.spans import tags_to_spans
from tests.conftest import CONFIGS, ROOT
from tests.models.batches import loss_of, model_and_batch, tensors


@pytest.fixture
def params(at_root):
    return Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet")


def reader_of(params, **changes):
    return DatasetReader.from_params(Params({**params["dataset_reader"].as_dict(), **changes}))


@pytest.fixture
def reader(params):
    return reader_of(params)


@pytest.fixture
def instances(reader):
    return list(reader.read("data/toy/dev.txt"))


def instance(reader, words, tags):
    instance = reader.text_to_instance(words, tags)
    reader.apply_token_indexers(instance)
    return instance


def build(params, instances, **changes):
    model_params = Params({**params["model"].duplicate().params, **changes})
    return Model.from_params(model_params, vocab=Vocabulary.from_instances(instances))


def test_toy_config_learns_and_reports_metrics_of_each_label(trained):
    metrics = json.loads((trained / "metrics.json").read_text())
    assert metrics["training_loss"] < 8
    for name in ("precision-PER", "recall-LOC", "f1-measure-ORG"):
        assert 0 <= metrics[f"best_validation_{name}"] <= 1
    assert metrics["best_validation_f1-measure-overall"] > 0.2
    assert "best_validation_f1-measure-macro" in metrics


def test_every_parameter_gets_a_gradient(params, instances):
    model = build(params, instances)
    model(**tensors(model, instances))["loss"].backward()
    trained = [each for each in model.parameters() if each.requires_grad]
    assert all(each.grad is not None and each.grad.any() for each in trained)


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_partly_known_tags_are_trained_on_and_measured(head, params):
    encodings = {"source_encoding": "IOB1", "tag_encoding": "BIOUL"}
    reader = reader_of(params, **encodings, unknown_tag="?")
    partial = [instance(reader, ["Ann", "Lee", "left"], ["I-PER", "?", "O"])]
    model = build(params, partial, head={"type": head})
    batch = tensors(model, partial)
    model(**batch)["loss"].backward()
    assert model.projection.weight.grad.any()
    model.eval()(**batch)
    assert model.head.get_metrics()["token-num-gold-PER"] == 1


def test_iobes_tags_are_entities(params):
    sentences = list(reader_of(params, tag_encoding="IOBES").read("data/toy/dev.txt"))
    model = build(params, sentences).eval()
    assert model.tag_encoding == "IOBES"
    output = model.forward_on_instances(sentences[:3])
    model(**tensors(model, sentences))
    for sentence in output:
        found = [(each["label"], (each["first"], each["last"])) for each in sentence["entities"]]
        assert found == tags_to_spans(sentence["tags"], "IOBES")
    assert "f1-measure-overall" in model.get_metrics()


@pytest.mark.parametrize("training_metrics", [False, True])
def test_training_steps_do_not_decode_unless_asked(
    training_metrics, params, instances, monkeypatch
):
    model = build(params, instances, training_metrics=training_metrics)
    predict = Mock(side_effect=model.head.predict)
    monkeypatch.setattr(model.head, "predict", predict)
    output = model.train()(**tensors(model, instances))
    assert ("predicted_tags" in output) == predict.called == training_metrics
    assert bool(model.get_metrics()) == training_metrics
    assert ("recall-PER" in model.get_metrics(reset=True)) == training_metrics


def test_a_loaded_archive_predicts_like_the_trained_model(archive, trained, reader, at_root):
    instances = list(reader.read("data/toy/test.txt"))
    again = Model.load(Params.from_file(trained / "config.json"), trained)
    again.eval()
    expected = archive.model.eval().forward_on_instances(instances)
    actual = again.forward_on_instances(instances)
    assert [output["tags"] for output in actual] == [output["tags"] for output in expected]
    assert [len(output["tags"]) for output in actual] == [len(i["tokens"]) for i in instances]


@pytest.mark.parametrize("reduction", ["sentence", "token", "sum"])
def test_the_loss_is_averaged_over_sentences_or_tokens_or_not_reduced(reduction, params, instances):
    torch.manual_seed(0)
    model = build(params, instances, loss_reduction=reduction).eval()
    lengths = [len(each["tokens"]) if reduction == "token" else 1 for each in instances]
    losses = [loss_of(model, [each]) for each in instances]
    total = sum(length * loss for length, loss in zip(lengths, losses))
    divisor = 1 if reduction == "sum" else sum(lengths)
    assert loss_of(model, instances) == pytest.approx(total / divisor, rel=1e-4)


@pytest.mark.parametrize(
    "encoder",
    [
        {"type": "lstm", "hidden_size": 6, "bidirectional": True},
        {"type": "lstm", "hidden_size": 6, "input_size": 66},
        {"type": "pass_through"},
        {"type": "bilstm", "hidden_size": 6, "num_layers": 2, "dropout": 0.2, "variational": True},
    ],
)
def test_any_sequence_encoder_fits_with_or_without_its_input_size(
    encoder, params, instances, caplog
):
    model = build(params, instances, encoder=encoder)
    assert model(**tensors(model, instances))["loss"].isfinite()
    assert "was found in both" not in caplog.text


def test_the_head_defaults_to_a_plain_crf(params, instances):
    del params["model"]["head"]
    model = build(params, instances)
    assert model.head.crf.weighting is None
    # BIOUL forbids some transitions.
    assert not model.head.crf._constraint_mask.all()


def test_tags_missing_from_the_training_data_can_be_evaluated_and_predicted(params, reader):
    seen = instance(reader, ["Ada", "Lovelace"], ["B-PER", "I-PER"])
    model = build(params, [seen])
    assert set(model.tags) == {"O", "B-PER", "I-PER", "L-PER", "U-PER"}
    unseen = instance(reader, ["Ada", "left"], ["B-PER", "O"])
    assert model(**tensors(model, [unseen]))["loss"].isfinite()


def test_plain_labels_can_be_tagged(params):
    reader = reader_of(params, source_encoding=None, tag_encoding=None)
    tagged = [(["the", "cat"], ["DET", "NOUN"]), (["sleep"], ["VERB"])]
    instances = [instance(reader, *each) for each in tagged]
    model = build(params, instances).eval()
    assert model.tag_encoding is None
    output = model.forward_on_instances(instances)
    assert set(output[0]["tags"]) <= {"DET", "NOUN", "VERB"}
    assert "accuracy" in model.get_metrics()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_gives_the_losses_of_the_cpu(params, instances):
    model = build(params, instances).eval()
    batch = tensors(model, instances)
    expected = model(**batch)["loss"]
    actual = model.cuda()(**move_to_device(batch, torch.device(0)))["loss"]
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss_reduction": "mean"}, "`loss_reduction` must be one of sentence, token, sum"),
        ({"label_namespace": "tags"}, "no tags in its namespace `tags`"),
        ({"tag_encoding": "BIO"}, "BIO"),
        (
            {"encoder": {"type": "bilstm", "input_size": 3, "hidden_size": 4}},
            "`encoder` takes 3 features, but `text_field_embedder` gives 66",
        ),
        (
            {"head": {"weighting": {"type": "emission", "label_weights": {"PRE": 2}}}},
            "names `PRE`.*did you mean `PER`",
        ),
    ],
)
def test_inconsistent_configs_are_refused(changes, message, params, instances):
    with pytest.raises(ConfigurationError, match=message):
        build(params, instances, **changes)


def test_with_an_extension_only_trained_parts_use_dropout(params, instances):
    plain = build(params, instances)
    plain.encoder.requires_grad_(False)
    assert plain.train().encoder.training
    params["model"]["extensions"] = [{"type": "bilstm", "hidden_size": 3}]
    model = build(params, instances)
    model.encoder.requires_grad_(False)
    parts = (model.encoder, model.text_field_embedder, model.extensions[0])
    assert [part.training for part in (model.train(), *parts)] == [True, False, True, True]
    assert not model.eval().extensions[0].training


def hide_tags(source, target, share):
    """Copies a column file and replaces a share of its tags by `?`."""
    draws = random.Random(0)
    lines = []
    for line in source.read_text().splitlines():
        columns = line.split()
        if columns and draws.random() < share:
            columns[-1] = "?"
        lines.append(" ".join(columns))
    target.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("strategy", [None, "chain"])
def test_two_thirds_of_the_tags_suffice_to_train(strategy, tmp_path, params):
    hide_tags(ROOT / "data/toy/train.txt", tmp_path / "train.txt", share=1 / 3)
    params["train_data_path"] = str(tmp_path / "train.txt")
    params["dataset_reader"].update({"unknown_tag": "?", "tag_encoding": "BIO"})
    if strategy is not None:
        weighting = {"type": strategy, "label_weights": {"PER": 2.0}}
        params["model"]["head"]["weighting"] = weighting
    train_model(params, str(tmp_path / "run"))
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["best_validation_f1-measure-overall"] > 0.7


@pytest.mark.parametrize("name", ["plain", "emission", "chain", "marginal", "softmax_margin"])
def test_the_head_computes_in_single_precision_whatever_the_encoders_dtype(name, params):
    # PyTorch does not support half-precision LSTMs on every processor.
    params["model"]["encoder"] = {"type": "pass_through"}
    if name != "plain":
        params["model"]["head"]["weighting"] = {"type": name, "label_weights": {"PER": 2}}
    model, batch = model_and_batch(params)
    seen = {}
    model.eval().projection.register_forward_hook(lambda *args: seen.update(emissions=args[-1]))
    exact = model(**batch)["loss"].item()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**batch)["loss"]
    loss.backward()
    assert seen["emissions"].dtype == torch.bfloat16
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact, rel=0.02)
    gradient = model.head.crf.transitions.grad
    assert gradient.dtype == torch.float32
    assert gradient.isfinite().all()
    assert gradient.abs().sum() > 0


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="mixed precision needs a CUDA device")
def test_training_with_mixed_precision_learns_as_well(params, tmp_path):
    params["trainer"].update({"use_amp": True, "cuda_device": 0})
    train_model(params, str(tmp_path / "run"))
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["best_validation_f1-measure-overall"] > 0.7
