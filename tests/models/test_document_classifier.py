import json
import random
import re
import tarfile

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.params import with_overrides
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from tagger.modules import MultiLabelLoss
from tagger.tools.tuning.tuned_archive import write_weights
from tests.conftest import ROOT

TOPICS = {"grain": "wheat corn harvest", "money": "bank rates dollar", "oil": "crude barrel opec"}
DEV = ROOT / "data/toy/dev.txt"


def documents(count, seed):
    """Documents with no, one or two labels, which follow from their words."""
    draws = random.Random(seed)
    for _ in range(count):
        labels = draws.sample(sorted(TOPICS), draws.choice([0, 1, 1, 2]))
        words = [word for label in labels for word in TOPICS[label].split()] + ["the", "of"] * 3
        draws.shuffle(words)
        yield {"text": " ".join(words), "labels": labels}


@pytest.fixture
def train(tmp_path):
    for name, count in (("train", 120), ("dev", 40)):
        lines = "".join(json.dumps(document) + "\n" for document in documents(count, name))
        (tmp_path / f"{name}.jsonl").write_text(lines)

    def run(loss, *callbacks, **overrides):
        embedding = {"type": "embedding", "embedding_dim": 16}
        params = {
            "dataset_reader": {"type": "document"},
            "train_data_path": str(tmp_path / "train.jsonl"),
            "validation_data_path": str(tmp_path / "dev.jsonl"),
            "model": {
                "type": "document_classifier",
                "text_field_embedder": {"token_embedders": {"tokens": embedding}},
                "encoder": {"type": "cnn", "num_filters": 8, "ngram_filter_sizes": [1, 2]},
                "loss": {"type": loss},
            },
            "data_loader": {"batch_size": 16},
            "trainer": {
                "optimizer": {"type": "adam", "lr": 0.02},
                "num_epochs": 5,
                "validation_metric": "+f1-measure-macro",
                "callbacks": list(callbacks),
            },
        }
        params = with_overrides(params, overrides)
        train_model(Params(params), str(tmp_path / loss))
        return tmp_path / loss

    return run


@pytest.mark.parametrize("loss", sorted(MultiLabelLoss.list_available()))
def test_every_loss_learns_document_labels(train, loss):
    folder = train(loss, {"type": "tune_thresholds", "target": "macro"})
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["best_validation_f1-measure-macro"] > 0.9
    assert metrics["best_validation_f1-measure-head"] > 0.9
    assert "best_validation_hamming-loss" in metrics


def test_linear_term_scores_are_learnt_and_archived(train):
    indexers = {"tokens": {"type": "single_id"}, "words": {"type": "single_id"}}
    folder = train(
        "focal",
        **{
            "dataset_reader.token_indexers": indexers,
            "model.term_scores": {"indexer": "words"},
            # Nothing else is trained.
            "trainer.optimizer": {
                "type": "adam",
                "lr": 0.0,
                "parameter_groups": [[["^term_scores"], {"lr": 0.5}]],
            },
        },
    )
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["best_validation_f1-measure-macro"] > 0.8
    model = load_archive(folder / "model.tar.gz").model
    assert model.term_scores.num_texts > 0
    predictor = Predictor.from_archive(load_archive(folder / "model.tar.gz"))
    assert predictor.predict_json({"text": "wheat corn harvest"})["labels"] == ["grain"]


def test_a_common_threshold_is_tuned(train):
    folder = train("focal", {"type": "tune_thresholds", "target": "macro", "common": True})
    thresholds = load_archive(folder / "model.tar.gz").model.thresholds.thresholds.tolist()
    assert len(set(thresholds)) == 1
    assert thresholds[0] != 0.5


def test_a_saved_model_is_tuned_like_in_training(train, allennlp, capsys, tmp_path):
    archive = train("focal", {"type": "tune_thresholds", "target": "macro"}) / "model.tar.gz"
    plain, tuned, common = (tmp_path / f"{name}.tar.gz" for name in ("plain", "tuned", "common"))
    write_weights(archive, plain, {"thresholds.thresholds": torch.full((3,), 0.999)})
    before = load_archive(plain).model.state_dict()
    assert before["thresholds.thresholds"].tolist() == pytest.approx([0.999] * 3)

    capsys.readouterr()
    allennlp("tune-decoding", plain, tmp_path / "dev.jsonl", "-o", tuned, "--target", "macro")
    printed = capsys.readouterr().out
    assert float(re.findall(r"^macro .* (\S+)", printed, re.MULTILINE)[1]) > 0.9
    assert len(re.findall("^oil ", printed, re.MULTILINE)) == 2
    expected = load_archive(archive).model.state_dict()
    after = load_archive(tuned).model.state_dict()
    assert not torch.equal(before["thresholds.thresholds"], after["thresholds.thresholds"])
    assert all(torch.equal(after[name], expected[name]) for name in expected)
    with tarfile.open(archive) as old, tarfile.open(tuned) as new:
        assert sorted(old.getnames()) == sorted(new.getnames())

    allennlp("tune-decoding", archive, tmp_path / "dev.jsonl", "-o", common, "--common")
    (threshold,) = set(load_archive(common).model.thresholds.thresholds.tolist())
    assert threshold != 0.5
    # Tuning again gains nothing, so no label is listed.
    capsys.readouterr()
    allennlp("tune-decoding", common, tmp_path / "dev.jsonl", "-o", tuned, "--force", "--common")
    assert "Labels not shown, which are unchanged: 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--target", "precision=high"], "expected micro, macro, precision=0.9 or recall=0.9"),
        (["--target", "f1"], "expected micro, macro, precision=0.9 or recall=0.9; got 'f1'"),
        (["--target", "recall=2"], "with a number above 0 and at most 1; got {'recall': 2.0}"),
        (["--target", "recall=0.9", "--common"], "`common` needs the `target` 'micro' or 'macro'"),
        (
            ["--common", "--least-positives", "0"],
            "`least_positives` must be a whole number of at least 1; got 0",
        ),
        (["--common"], "`--target` and `--common` are for a `document_classifier`, or a"),
    ],
)
def test_models_without_thresholds_and_calls_without_targets_are_refused(
    trained, allennlp, capsys, tmp_path, options, says
):
    output = tmp_path / "tuned.tar.gz"
    with pytest.raises(SystemExit) as error:
        allennlp("tune-decoding", trained / "model.tar.gz", DEV, "-o", output, *options)
    assert says in f"{error.value.code} {capsys.readouterr().err}"
    assert not output.exists()


def test_an_archive_predicts_like_the_trained_model(train):
    predictor = Predictor.from_archive(load_archive(train("focal") / "model.tar.gz"))
    prediction = predictor.predict_json(
        predictor.load_line("the wheat corn harvest of crude barrel opec")
    )
    assert sorted(prediction["labels"]) == ["grain", "oil"]
    assert set(prediction["probabilities"]) == set(TOPICS)
    assert predictor.load_line('{"text": "a"}') == {"text": "a"}
    assert predictor.load_line("\ufeffa\n") == {"text": "\ufeffa"}
    blank, other = predictor.predict_batch_json([{"text": " "}, {"text": "corn wheat harvest"}])
    assert blank == {"labels": [], "probabilities": {}}
    assert set(other["probabilities"]) == set(TOPICS)
    predictor.check({"text": ""})
    for inputs in ({"text": "a", "sentence": "b"}, {"text": None}, {"text": ["a"]}):
        with pytest.raises(ValueError, match="exactly one of `text`|`text` must be a text"):
            predictor.predict_json(inputs)
    with pytest.raises(ValueError, match="reads text; give text"):
        predictor.check({"numbers": [[0.5]]})
    with pytest.raises(ValueError, match="is a JSON list, not an object; give plain text, "):
        predictor.load_line("[123]")
    with pytest.raises(ValueError, match="exactly one of `text`, and no other field; got `txt`"):
        predictor.predict_json({"txt": "a"})
