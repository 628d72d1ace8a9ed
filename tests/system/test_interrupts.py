"""Training and `predict-file`, killed or interrupted at many moments, resume with the same results."""

import shutil

import pytest

from tests.allennlp_command import run_command
from tests.kinds import CONFIGS_OF_KINDS
from tests.system.interrupts import (
    NUM_EPOCHS,
    SIGNALS,
    STATUS,
    break_prediction,
    break_training,
    copy_toy,
    lines_of_texts,
    moments_of_prediction,
    moments_of_training,
    random_moments_of_training,
)

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("warm_python")]

TRAIN = ["train", "training_config/toy_bilstm_crf.jsonnet"]
LINES, WINDOW = 3_000, 128
PREDICT = ["predict-file", "model.tar.gz", "texts.txt", "--window", str(WINDOW)]
OF_TRAINING = [*moments_of_training(NUM_EPOCHS), *random_moments_of_training(6, NUM_EPOCHS)]
OF_PREDICTION = list(moments_of_prediction(6, -(-LINES // WINDOW)))


def _run(arguments, folder):
    outcome = run_command(arguments, folder)
    assert outcome.status == 0, outcome.last_line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted")
    copy_toy(folder)
    _run([*TRAIN, "-s", "unbroken"], folder)
    shutil.copy(folder / "unbroken/model.tar.gz", folder)
    (folder / "texts.txt").write_text(lines_of_texts(LINES))
    _run([*PREDICT, "-o", "unbroken.jsonl"], folder)
    return folder


@pytest.mark.parametrize("index", range(len(OF_TRAINING)), ids=lambda i: OF_TRAINING[i].title)
def test_a_killed_training_resumes_with_the_same_result(index, folder):
    moment, number = OF_TRAINING[index], SIGNALS[index % len(SIGNALS)]
    status, problems = break_training(TRAIN, folder, moment, number)
    assert problems == []
    # After the last checkpoint, or some time after an epoch, the run may end before the signal.
    assert status == STATUS[number] or (status == 0 and moment not in OF_TRAINING[:3])


@pytest.mark.parametrize("kind", CONFIGS_OF_KINDS)
def test_a_killed_training_of_every_kind_resumes_with_the_same_result(kind, tmp_path):
    copy_toy(tmp_path)
    (tmp_path / "mine.jsonnet").write_text(CONFIGS_OF_KINDS[kind](tmp_path))
    train = ["train", "mine.jsonnet", "-o", '{"trainer.num_epochs": 4}']
    _run([*train, "-s", "unbroken"], tmp_path)
    for moment, number in zip(random_moments_of_training(3, 4), SIGNALS):
        assert break_training(train, tmp_path, moment, number)[1] == [], moment.title


@pytest.mark.parametrize("index", range(len(OF_PREDICTION)), ids=lambda i: OF_PREDICTION[i].title)
def test_a_killed_predict_file_resumes_with_the_same_output(index, folder):
    moment, number = OF_PREDICTION[index], SIGNALS[index % len(SIGNALS)]
    assert break_prediction(PREDICT, folder, moment, number)[1] == []
