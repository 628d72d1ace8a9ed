"""An optimizer for a pretrained transformer under new layers."""

import re
from typing import Any, Dict, List, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.optimizers import Optimizer

from tagger.training.optimizers import FUSED, check_adam, check_rates

# The number of a layer is the first in the name of its parameters: `encoder.layer.3.output.dense.bias`.
_LAYER = re.compile(r"\.(\d+)\.")


@Optimizer.register("layerwise_adamw")
class LayerwiseAdamW(Optimizer, torch.optim.AdamW):
    """AdamW with lower learning rates in a transformer: the lower the layer, the lower its rate.

    The rate of layer l of n is `transformer_lr * layer_decay ** (n - l)`, and that of the embeddings
    below layer 1 is the next smaller one (Howard & Ruder 2018, section 3.2; Clark et al. 2020, appendix
    A). Vectors, which are the biases and the weights of norms, have no weight decay. A scheduler changes
    all rates by the same factor.

    Args:
        model_parameters: The trained parameters by name; supplied by the trainer in a config.
        lr: The learning rate of all that is not in the transformer.
        transformer_lr: The learning rate of the transformer's last layer.
        layer_decay: The ratio of the rates of a layer and of the next higher one, above 0, at most 1.
        weight_decay: The share of each matrix, times its learning rate, that a step takes away.
        transformer: A regular expression that is found in the names of the transformer's parameters,
            and ends where their names within the transformer begin.
        betas: The decay of the running means of the gradient and of its square.
        eps: A small number that is added to the denominator.
    """

    def __init__(
        self,
        model_parameters: List[Tuple[str, torch.nn.Parameter]],
        lr: float = 1e-3,
        transformer_lr: float = 5e-5,
        layer_decay: float = 1.0,
        weight_decay: float = 0.01,
        transformer: str = r"\btransformer_model\.",
        betas: Tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        check_rates(lr=lr, transformer_lr=transformer_lr, layer_decay=layer_decay)
        check_adam(betas, eps, weight_decay)
        heights = layer_heights([name for name, _ in model_parameters], transformer)
        # By learning rate and weight decay.
        groups: Dict[Tuple[float, float], List[torch.nn.Parameter]] = {}
        for name, parameter in model_parameters:
            rate = transformer_lr * layer_decay ** -heights[name] if name in heights else lr
            decay = weight_decay if parameter.dim() > 1 else 0.0
            groups.setdefault((rate, decay), []).append(parameter)
        by_rate: List[Dict[str, Any]] = [
            {"params": parameters, "lr": rate, "weight_decay": decay}
            for (rate, decay), parameters in groups.items()
        ]
        super().__init__(by_rate, lr=lr, betas=betas, eps=eps, **FUSED)


def layer_heights(names: List[str], transformer: str) -> Dict[str, int]:
    """Returns the height of each parameter's layer: 0 for the last and what follows, -1 below.

    What comes before the first layer is a layer below it. `names` are in the order of definition.
    """
    # By name, where the name within the transformer begins.
    begins = {name: found.end() for name in names if (found := re.search(transformer, name))}
    if not begins:
        parts = sorted({".".join(name.split(".")[:3]) for name in names})
        raise ConfigurationError(
            f"`transformer` is {transformer!r}, which is in the name of no trained parameter; they are "
            f"in {', '.join(parts)}; correct the expression, or take `fused_adamw` where no transformer "
            f"is trained"
        )
    numbers = {name: _LAYER.search(name, begin - 1) for name, begin in begins.items()}
    layers = {name: int(number[1]) for name, number in numbers.items() if number}
    first, last = min(layers.values(), default=0), max(layers.values(), default=0)
    heights: Dict[str, int] = {}
    for name in numbers:
        is_before = bool(layers) and not heights.keys() & layers.keys()
        heights[name] = layers.get(name, first - 1 if is_before else last) - last
    return heights
