"""Runs the lower and the upper layers of a pretrained transformer separately.

Letters: `N` windows, `L` pieces of the longest, `D` features.
"""

from contextlib import contextmanager
from typing import Any, Iterator, List, Sequence, Tuple

import torch
from allennlp.common.checks import ConfigurationError


class UpperLayers:
    """The upper layers of a transformer, which may be trained over states of the lower ones.

    The rest of the transformer is frozen: the embeddings, the lower layers, and what comes after the
    last layer. It works with every transformer of the library `transformers` that keeps its layers in a
    list.
    """

    def __init__(self, transformer: torch.nn.Module, num_lower: int) -> None:
        self._transformer = transformer
        self._parent, self._name = _find_layers(transformer)
        layers = list(getattr(self._parent, self._name))
        if not 0 < num_lower < len(layers):
            raise ConfigurationError(
                f"`num_frozen_layers` must be below the {len(layers)} layers of the transformer; got "
                f"{num_lower}"
            )
        self.lower, self.upper = layers[:num_lower], layers[num_lower:]
        transformer.requires_grad_(False)
        for layer in self.upper:
            layer.requires_grad_(True)
        # How many values a layer returns, the state first; 0 for the state alone.
        self._num_outputs = 0

    @torch.no_grad()
    def lower_states(self, pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns the output of the lower layers, (N, L, D), without gradient."""
        states: List[torch.Tensor] = []

        def keep(_layer: torch.nn.Module, _inputs: Any, output: Any) -> None:
            self._num_outputs = len(output) if isinstance(output, tuple) else 0
            states.append(output[0] if isinstance(output, tuple) else output)

        hook = self.lower[-1].register_forward_hook(keep)
        try:
            with self._layers(self.lower):
                self._transformer(input_ids=pieces, attention_mask=mask)
        finally:
            hook.remove()
        return states[0]

    def states(
        self, pieces: torch.Tensor, mask: torch.Tensor, lower_states: torch.Tensor
    ) -> torch.Tensor:
        """Returns the output of the transformer, (N, L, D), given that of `lower_states`."""
        given = _Given(lower_states, self._num_outputs)
        with self._layers([*[given] * len(self.lower), *self.upper]):
            return self._transformer(input_ids=pieces, attention_mask=mask).last_hidden_state

    @contextmanager
    def _layers(self, layers: Sequence[torch.nn.Module]) -> Iterator[None]:
        """Temporarily replaces the transformer's layers."""
        own = getattr(self._parent, self._name)
        setattr(self._parent, self._name, torch.nn.ModuleList(layers))
        try:
            yield
        finally:
            setattr(self._parent, self._name, own)


class _Given(torch.nn.Module):
    """Stands in for layers with a known output."""

    def __init__(self, states: torch.Tensor, num_outputs: int) -> None:
        super().__init__()
        self._output = (states, *[None] * (num_outputs - 1)) if num_outputs else states

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._output


def _find_layers(transformer: Any) -> Tuple[torch.nn.Module, str]:
    """Returns the module that holds the list of layers, and the name of the list."""
    number = getattr(transformer.config, "num_hidden_layers", None)
    for module in transformer.modules():
        for name, child in module.named_children():
            if isinstance(child, torch.nn.ModuleList) and len(child) == number:
                return module, name
    raise ConfigurationError(
        f"`num_frozen_layers` needs a transformer with a list of layers; `{type(transformer).__name__}` "
        f"has none; set it to 0"
    )
