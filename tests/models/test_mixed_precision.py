"""Mixed precision."""

import json

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.data import DataLoader, DatasetReader, Vocabulary
from allennlp.models import Model

from tests.conftest import CONFIGS

TOY = CONFIGS / "toy_bilstm_crf.jsonnet"
WEIGHTINGS = ["plain", "emission", "chain", "marginal", "softmax_margin"]


@pytest.fixture(params=WEIGHTINGS)
def model_and_batch(request, at_root):
    # PyTorch has no LSTM in half precision for every processor.
    params = Params.from_file(TOY, json.dumps({"model.encoder": {"type": "pass_through"}}))
    if request.param != "plain":
        weighting = {"type": request.param, "label_weights": {"PER": 2}}
        params["model"]["head"]["weighting"] = weighting
    reader = DatasetReader.from_params(params["dataset_reader"])
    loader = DataLoader.from_params(
        params["data_loader"], reader=reader, data_path=params["train_data_path"]
    )
    vocab = Vocabulary.from_instances(loader.iter_instances())
    loader.index_with(vocab)
    return Model.from_params(params["model"], vocab=vocab).eval(), next(iter(loader))


def test_the_head_computes_in_single_precision_whatever_the_encoder_does(model_and_batch):
    model, batch = model_and_batch
    seen = {}
    model.projection.register_forward_hook(lambda *args: seen.update(emissions=args[-1]))
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
def test_training_with_mixed_precision_learns_as_well(at_root, tmp_path):
    overrides = {"trainer.use_amp": True, "trainer.cuda_device": 0}
    train_model(Params.from_file(TOY, json.dumps(overrides)), str(tmp_path / "run"))
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["best_validation_f1-measure-overall"] > 0.7
