"""The states of all random generators, and a callback that saves them in checkpoints."""

import random
from typing import Any, Callable, Dict, Optional

import numpy
import torch
from allennlp.training.callbacks import TrainerCallback


def random_states() -> Dict[str, Any]:
    """Returns the states of all generators, as types that `torch.load` reads without running code."""
    state: Any = numpy.random.get_state()
    name, keys, *rest = state
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(keys.astype("int64")), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_states(states: Dict[str, Any]) -> None:
    """Restores the states of all generators from `random_states`."""
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    name, keys, *rest = states["numpy"]
    numpy.random.set_state((name, keys.numpy().astype("uint32"), *rest))
    torch.set_rng_state(states["torch"])
    if len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states["cuda"])


class RandomStatesCallback(TrainerCallback):
    """Saves random states in a trainer's checkpoints; `loaded` holds those to resume from."""

    def __init__(self, serialization_dir: str, get_states: Callable[[], Dict[str, Any]]) -> None:
        super().__init__(serialization_dir)
        self._get_states = get_states
        self.loaded: Optional[Dict[str, Any]] = None

    def state_dict(self) -> Dict[str, Any]:
        return self._get_states()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.loaded = state_dict
