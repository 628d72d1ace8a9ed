"""Two workers, each with its share of the data, report the scores of all of it."""

import json

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params

from tagger.spans.matching import SCHEMES
from tests.conftest import CONFIGS
from tests.models.test_multi_label_tagger import LEXICON, params_of, write_corpus

PARTIAL_SCHEMES = tuple(f"{scheme}-" for scheme in SCHEMES)
CALLBACKS = ["show_metrics"]


def trained_scores_and_evaluated_ones(params, folder):
    """Of two workers on the validation data, and of one that evaluates the model that they saved."""
    dev = params["validation_data_path"]
    params["distributed"] = {"cuda_devices": [-1, -1]}
    train_model(params, str(folder))
    metrics = json.loads((folder / "metrics.json").read_text())
    evaluated = evaluate_from_archive(folder / "model.tar.gz", dev)
    trained = {
        name: metrics[f"best_validation_{name}"]
        for name in evaluated
        # The loss is a mean over batches, which are others. Training leaves partial matches out.
        if name != "loss" and not name.startswith(PARTIAL_SCHEMES)
    }
    return trained, {name: evaluated[name] for name in trained}


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_two_workers_score_spans_and_tokens_as_one(at_root, tmp_path):
    params = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet")
    params["trainer"]["num_epochs"] = 10
    params["trainer"]["optimizer"] = {"type": "adam", "lr": 0.03}
    params["trainer"]["callbacks"].append({"type": "augmentation", "mention_replacement": 0.5})
    # Eight sentences for one worker, seven for the other. AllenNLP's loader would make as many batches,
    # and its trainer would leave out the eighth.
    params["validation_data_loader"] = {"type": "bucketed", "batch_size": 1, "shuffle": False}
    trained, evaluated = trained_scores_and_evaluated_ones(params, tmp_path / "run")
    # Sums of float32 in another order.
    assert trained == pytest.approx(evaluated, rel=1e-5)
    assert evaluated["num-gold-overall"] == 23
    assert evaluated["token-num-gold-overall"] == 40
    assert evaluated["f1-measure-overall"] > 0.2
    assert evaluated["confusion-PER>PER"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_two_workers_score_and_tune_several_labels_as_one(tmp_path):
    write_corpus(tmp_path / "train.txt", LEXICON)
    write_corpus(tmp_path / "dev.txt", LEXICON, seed=1, share_unknown=0.1, noise=0.3)
    callbacks = [*CALLBACKS, {"type": "tune_thresholds", "target": "macro"}]
    params = params_of(tmp_path, callbacks=callbacks, num_epochs=2)
    trained, evaluated = trained_scores_and_evaluated_ones(params, tmp_path / "run")
    assert trained == pytest.approx(evaluated)
    assert {"auc-macro", "hamming-loss", "f1-measure-tail"} <= set(evaluated)
