import random

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params

from tests.conftest import CONFIGS, ROOT


def hide_tags(source, target, share):
    """Copies a column file with a share of its tags replaced by `?`."""
    draws = random.Random(0)
    lines = []
    for line in source.read_text().splitlines():
        columns = line.split()
        if columns and draws.random() < share:
            columns[-1] = "?"
        lines.append(" ".join(columns))
    target.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("strategy", [None, "chain"])
def test_two_thirds_of_the_tags_suffice_to_train(strategy, tmp_path, at_root):
    hide_tags(ROOT / "data/toy/train.txt", tmp_path / "train.txt", share=1 / 3)
    overrides = {
        "train_data_path": str(tmp_path / "train.txt"),
        "dataset_reader.unknown_tag": "?",
        "dataset_reader.tag_encoding": "BIO",
    }
    if strategy is not None:
        overrides["model.head.weighting"] = {"type": strategy, "label_weights": {"PER": 2.0}}
    params = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet", overrides)
    train_model(params, str(tmp_path / "run"))
    metrics = Params.from_file(tmp_path / "run/metrics.json").as_dict()
    assert metrics["best_validation_f1-measure-overall"] > 0.7
