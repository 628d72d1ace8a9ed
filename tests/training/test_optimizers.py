import json

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.training.callbacks import TrainerCallback
from allennlp.training.optimizers import Optimizer

import tagger.training  # noqa: F401
from tests.conftest import CONFIGS


def optimized(name, **options):
    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 3)
    optimizer = Optimizer.from_params(
        Params({"type": name, "lr": 0.1, **options}),
        model_parameters=list(layer.named_parameters()),
    )
    for _ in range(5):
        optimizer.zero_grad()
        layer(torch.ones(2, 5)).pow(2).sum().backward()
        optimizer.step()
    return layer.weight


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.1},
        {"betas": [0.5, 0.9]},
        {"parameter_groups": [[["bias"], {"lr": 1}]]},
    ],
)
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_fused_optimizers_make_the_steps_of_allennlps(name, options):
    expected = optimized(name, **options)
    torch.testing.assert_close(optimized(f"fused_{name}", **options), expected)
    assert not torch.equal(expected, optimized("sgd"))


def test_the_template_trains_with_sparse_gradients_of_word_vectors(tmp_path, at_root):
    config = tmp_path / "sparse.jsonnet"
    config.write_text(
        f"(import '{CONFIGS}/toy_bilstm_crf.jsonnet') "
        "+ { sparse_word_gradients:: true, patience:: 15 }"
    )
    gradients = []

    @TrainerCallback.register("gradients")
    class Gradients(TrainerCallback):
        def on_batch(self, trainer, *args, **kwargs):
            model = trainer.model
            gradients.append(model.text_field_embedder.token_embedder_tokens.weight.grad)

    params = Params.from_file(config, {"trainer.callbacks": ["gradients"]})
    train_model(params, str(tmp_path / "run"))
    assert gradients
    assert all(gradient.is_sparse for gradient in gradients)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["best_validation_f1-measure-overall"] > 0.9
