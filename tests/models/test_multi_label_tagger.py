"""The tagger with the `sigmoid` head, end to end on toy data."""

import json
import random
from pathlib import Path

import pytest
import torch
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

from tests.models.batches import loss_of, small_tagger
from tests.pages import blocks

# The nouns have labels, the verbs do not.
LEXICON = {
    "bank": "ORG|PLACE",
    "firm": "ORG",
    "park": "PLACE",
    "mayor": "PERSON|TITLE",
    "poet": "PERSON",
    "sees": "O",
    "leaves": "O",
    "likes": "O",
}
BINARY = {word: "KEY" if labels.startswith("ORG") else "O" for word, labels in LEXICON.items()}


def write_corpus(path, lexicon, num_sentences=40, seed=0, share_unknown=0.0, noise=0.0):
    draw = random.Random(seed)

    def tag(word):
        if draw.random() < share_unknown:
            return "?"
        return lexicon[draw.choice(list(lexicon)) if draw.random() < noise else word]

    sentences = [draw.choices(list(lexicon), k=draw.randint(1, 6)) for _ in range(num_sentences)]
    path.write_text("\n".join("".join(f"{w} {tag(w)}\n" for w in words) for words in sentences))


def params_of(folder, head=None, callbacks=(), num_epochs=6, **changes):
    return Params(
        {
            "train_data_path": str(folder / "train.txt"),
            "validation_data_path": str(folder / "dev.txt"),
            "dataset_reader": {"type": "column", "label_separator": "|", "unknown_tag": "?"},
            "model": small_tagger({"type": "sigmoid", **(head or {})}),
            "data_loader": {"batch_size": 4, "shuffle": True},
            "trainer": {
                "optimizer": {"type": "adam", "lr": 0.05},
                "num_epochs": num_epochs,
                "validation_metric": "+f1-measure-overall",
                "callbacks": list(callbacks),
            },
            **changes,
        }
    )


@pytest.fixture
def corpus(tmp_path):
    write_corpus(tmp_path / "train.txt", LEXICON, share_unknown=0.2)
    write_corpus(tmp_path / "dev.txt", LEXICON, seed=1)
    return tmp_path


@pytest.fixture
def reader(corpus):
    return DatasetReader.from_params(params_of(corpus)["dataset_reader"])


@pytest.fixture
def instances(reader, corpus):
    return list(reader.read(corpus / "train.txt"))


def build(instances, folder, **head):
    vocab = Vocabulary.from_instances(instances)
    return Model.from_params(params_of(folder, head)["model"], vocab=vocab)


TUNED = {"type": "tune_thresholds", "target": "macro"}


@pytest.mark.slow
def test_a_trained_tagger_is_archived_with_its_thresholds_and_predicts_the_same(corpus, allennlp):
    # With noise, the thresholds differ between epochs.
    write_corpus(corpus / "dev.txt", LEXICON, seed=1, noise=0.4)
    # On this test data, thresholds of 0 would be best.
    write_corpus(corpus / "test.txt", dict.fromkeys(LEXICON, "ORG|PLACE|PERSON|TITLE"), seed=2)
    head = {"loss": {"type": "class_balanced_negative_tolerant", "beta": 0.99}}
    test_data = {"test_data_path": str(corpus / "test.txt"), "evaluate_on_test": True}
    params = params_of(corpus, head, [TUNED], **test_data)
    trained = train_model(params, str(corpus / "run"))
    archive = load_archive(corpus / "run" / "model.tar.gz")
    model = archive.model
    thresholds = model.head.thresholds.thresholds
    assert len(set(thresholds.tolist())) == 4
    # Evaluation does not tune, neither on test data nor from the archive.
    assert torch.equal(trained.head.thresholds.thresholds, thresholds)
    metrics = json.loads((corpus / "run" / "metrics.json").read_text())
    for data in ("dev", "test"):
        metrics_of_data = evaluate_from_archive(str(corpus / "run"), str(corpus / f"{data}.txt"))
        prefix = "best_validation_" if data == "dev" else "test_"
        assert len(metrics_of_data) > 15
        for name, value in metrics_of_data.items():
            assert metrics[prefix + name] == pytest.approx(value)

    predictor = Predictor.from_archive(archive)
    prediction = predictor.predict_json({"tokens": ["mayor", "leaves", "bank"]})
    assert prediction["labels"][1] == []
    assert set(prediction["labels"][2]) == {"ORG", "PLACE"}
    assert set(prediction["probabilities"][0]) == set(model.tags)
    assert "entities" not in prediction
    assert "tags" not in prediction
    texts = [{"tokens": ["mayor", "leaves", "bank"]}, {"tokens": ["a"]}]
    first, second = predictor.predict_batch_json(texts)
    assert first["labels"] == prediction["labels"]
    assert len(second["labels"]) == 1
    assert json.loads(predictor.dump_line(prediction)) == prediction

    # Tune a saved model to other targets.
    saved, tuned = corpus / "run" / "model.tar.gz", corpus / "tuned.tar.gz"
    for target in ("recall=1", "macro"):
        files = [saved, corpus / "dev.txt", "-o", tuned, "--force"]
        allennlp("tune-decoding", *files, "--target", target)
        changed = load_archive(tuned).model.head.thresholds.thresholds
        assert torch.equal(changed, thresholds) == (target == "macro")


@pytest.mark.slow
def test_the_config_in_the_docs_trains(corpus, monkeypatch):
    (block,) = blocks("jsonnet", "several_labels", "label_separator")
    (corpus / "config.jsonnet").write_text(block.code)
    monkeypatch.chdir(corpus)
    params = Params.from_file("config.jsonnet", {"trainer.num_epochs": 1})
    train_model(params, "run")
    assert "best_validation_f1-measure-tail" in json.loads(Path("run/metrics.json").read_text())


def test_binary_tagging_learns_from_partly_hidden_labels(tmp_path):
    write_corpus(tmp_path / "train.txt", BINARY, share_unknown=0.3)
    write_corpus(tmp_path / "dev.txt", BINARY, seed=1)
    model = train_model(params_of(tmp_path), str(tmp_path / "run"))
    assert model.tags == ["KEY"]
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["best_validation_f1-measure-KEY"] > 0.95


def test_hidden_labels_and_padding_neither_train_nor_count(instances, reader, corpus):
    model = build(instances, corpus).eval()
    expected = loss_of(model, instances)
    losses = [loss_of(model, [each]) for each in instances]
    assert sum(losses) / len(losses) == pytest.approx(expected, rel=1e-5)
    model.get_metrics(reset=True)
    hidden = reader.text_to_instance(["bank", "sees"], ["?", "?"])
    reader.apply_token_indexers(hidden)
    assert loss_of(model, [hidden]) == 0
    assert set(model.get_metrics(reset=True).values()) == {0}


def test_a_callback_without_thresholds_to_tune_is_refused(corpus):
    params = params_of(corpus, callbacks=[TUNED])
    params["model"]["head"] = {"type": "crf"}
    params["dataset_reader"] = {"type": "column", "source_encoding": None}
    with pytest.raises(ConfigurationError, match="`tune_thresholds` needs a model with thresholds"):
        train_model(params, str(corpus / "run"))
