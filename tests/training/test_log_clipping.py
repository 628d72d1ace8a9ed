import json

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params

from tests.conftest import CONFIGS


def train(folder, grad_norm):
    params = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet")
    params["trainer"].update(
        {"num_epochs": 1, "callbacks": ["log_clipping"], "grad_norm": grad_norm}
    )
    train_model(params, str(folder))
    return json.loads((folder / "metrics.json").read_text())


@pytest.mark.parametrize(("grad_norm", "share"), [(1e-6, 1.0), (1e6, 0.0)])
def test_the_share_of_clipped_steps_is_logged(grad_norm, share, at_root, tmp_path):
    metrics = train(tmp_path / "run", grad_norm)
    assert metrics["training_share-clipped"] == share
    line = f"epoch 1: `grad_norm` {grad_norm:g} clipped {100 * share:.1f} % of 8 steps; the median"
    assert line in (tmp_path / "run/out.log").read_text()


@pytest.mark.parametrize("grad_norm", [False, True])
def test_without_clipping_there_is_no_share(grad_norm, at_root, tmp_path):
    assert "training_share-clipped" not in train(tmp_path / "run", grad_norm)
