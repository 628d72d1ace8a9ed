"""An optimizer for a pretrained transformer with new layers on top."""

import re
from typing import Any, Dict, List, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.optimizers import Optimizer

from tagger.common.ranges import check_shares
from tagger.training.optimizers import FUSED, check_adam

# A layer's number is the first one in its parameters' names: `encoder.layer.3.output.dense.bias`.
_LAYER = re.compile(r"\.(\d+)\.")


@Optimizer.register("layerwise_adamw")
class LayerwiseAdamW(Optimizer, torch.optim.AdamW):
    """AdamW with layer-wise learning rates: the lower a transformer layer, the lower its rate.

    The rate of layer l of n is `transformer_lr * layer_decay ** (n - l)`; the embeddings count as layer
    0 (Howard & Ruder 2018, section 3.2; Clark et al. 2020, appendix A). Vectors, that is, biases and the
    weights of norms, have no weight decay. Schedulers scale all rates by the same factor.

    Args:
        model_parameters: The trained parameters by name; supplied by the trainer in a config.
        lr: The learning rate of everything outside the transformer.
        transformer_lr: The learning rate of the transformer's last layer.
        layer_decay: The ratio between the rate of a layer and that of the layer above it, above 0, at
            most 1.
        weight_decay: Each step shrinks matrices by this share, times their learning rate.
        transformer: A regular expression that finds the prefix of the transformer's parameter names;
            their names within the transformer follow it.
        betas: The decay rates of the running means of the gradient and of its square.
        eps: A small number added to the denominator.
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
        check_shares(lr=lr, transformer_lr=transformer_lr, layer_decay=layer_decay)
        check_adam(betas, eps, weight_decay)
        heights = layer_heights([name for name, _ in model_parameters], transformer)
        # Keys are the learning rate and the weight decay.
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
    """Returns each parameter's layer, counted down from the last: 0 for that and above, then -1, -2...

    Parameters before the first layer form a layer below it. `names` are in order of definition.
    """
    # For each parameter, the start of its name within the transformer.
    begins = {name: found.end() for name in names if (found := re.search(transformer, name))}
    if not begins:
        parts = sorted({".".join(name.split(".")[:3]) for name in names})
        raise ConfigurationError(
            f"`transformer` is {transformer!r}, which matches no trained parameter; they are in "
            f"{', '.join(parts)}; correct the expression, or use `fused_adamw` where no transformer "
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
