"""The taggers that the benchmarks compare; `tests/system/test_benchmarks.py` runs the benchmarks."""

import pytest
from allennlp.common import Params

from scripts.experiments.benchmarks.prediction import TimedPredictor
from scripts.experiments.benchmarks.training import (
    PARTS,
    SIDES,
    Stopwatch,
    config_of,
    timed_trainer,
)
from tests.scripts.test_check_gpu import COLUMNS


@pytest.fixture
def corpus(tmp_path):
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / name).write_text(COLUMNS)
    return tmp_path


def test_our_tagger_is_timed_in_training_and_prediction(corpus):
    config = config_of("ours-auto", str(corpus), 2)
    assert config["model"]["encoder"].pop("precision") == "auto"
    predictor = TimedPredictor(config, f"{corpus}/eng.testb", "sequence_tagger", 2)
    assert predictor.num_tokens == 4
    assert predictor.run() > 0
    watch = Stopwatch()
    trainer = timed_trainer(config, str(corpus / "run"), watch)
    watch.take()
    trainer._train_epoch(0)
    seconds = watch.take()
    assert [part for part in PARTS if seconds[part] <= 0] == []
    assert sum(watch.take().values()) < sum(seconds.values())


def test_the_sides_differ_in_what_their_names_say(corpus):
    configs = {side: config_of(side, str(corpus), 2) for side in SIDES}
    kinds = {side: config["model"].pop("type") for side, config in configs.items()}
    assert kinds == {
        "AllenNLP": "crf_tagger",
        "one-line": "weighted_crf_tagger",
        "ours": "sequence_tagger",
        "ours-auto": "sequence_tagger",
    }
    assert Params(configs["AllenNLP"]).as_flat_dict() == Params(configs["one-line"]).as_flat_dict()
