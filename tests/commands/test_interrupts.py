"""Killed commands, when repeated, give the same result; `tests/system` tries more cases."""

import json
import shutil

import pytest

from tests.allennlp_command import run_command
from tests.conftest import OTHERWISE, ROOT
from tests.system.interrupts import (
    SIGNALS,
    STATUS,
    break_prediction,
    break_training,
    lines_of_texts,
    moments_of_prediction,
    moments_of_training,
)

TOY = str(ROOT / "training_config/toy_bilstm_crf.jsonnet")
TRAIN = ["train", TOY, "-o", json.dumps(OTHERWISE)]


@pytest.mark.slow
@pytest.mark.parametrize("index", [0, 1])
def test_a_killed_training_resumes_with_the_same_result(
    index, warm_python, trained_otherwise, tmp_path
):
    shutil.copytree(ROOT / "data/toy", tmp_path / "data/toy")
    shutil.copytree(trained_otherwise, tmp_path / "unbroken")
    num_epochs = OTHERWISE["trainer.num_epochs"]
    moment, number = moments_of_training(num_epochs)[index], SIGNALS[index]
    assert break_training(TRAIN, tmp_path, moment, number) == (STATUS[number], [])


@pytest.mark.slow
def test_a_killed_predict_file_resumes_with_the_same_output(warm_python, trained, tmp_path):
    (tmp_path / "texts.txt").write_text(lines_of_texts(600))
    predict = ["predict-file", str(trained / "model.tar.gz"), "texts.txt", "--window", "128"]
    assert run_command([*predict, "-o", "unbroken.jsonl"], tmp_path).status == 0
    (moment,) = moments_of_prediction(1, 5)
    assert break_prediction(predict, tmp_path, moment, SIGNALS[2]) == (STATUS[SIGNALS[2]], [])
