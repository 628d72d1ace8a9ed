"""Features of passages that evaluation remembers for a while."""

import threading
from collections import OrderedDict
from typing import Any, Dict, Optional, Sequence, Tuple

import torch


class RecentFeatures:
    """Mixed features of the passages that were embedded last, up to a size.

    Args:
        max_bytes: The size.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._nbytes = 0
        self._features: OrderedDict[bytes, torch.Tensor] = OrderedDict()
        self._weights: Optional[torch.Tensor] = None
        self._lock = threading.Lock()

    def get(self, keys: Sequence[bytes], weights: torch.Tensor) -> Dict[bytes, torch.Tensor]:
        """Returns the features of those passages that are there, if they were mixed by `weights`."""
        with self._lock:
            if self._weights is None or not torch.equal(self._weights, weights):
                return {}
            return {key: self._features[key] for key in keys if key in self._features}

    def put(self, features: Dict[bytes, torch.Tensor], weights: torch.Tensor) -> None:
        """Remembers features, and forgets the oldest if they are too many."""
        with self._lock:
            if self._weights is None or not torch.equal(self._weights, weights):
                self._features.clear()
                self._nbytes = 0
                self._weights = weights.detach().clone()
            for key, values in features.items():
                if key not in self._features:
                    self._nbytes += values.nbytes
                self._features[key] = values
                self._features.move_to_end(key)
            while self._nbytes > self._max_bytes and self._features:
                self._nbytes -= self._features.popitem(last=False)[1].nbytes

    def clear(self) -> None:
        """Forgets all."""
        with self._lock:
            self._features.clear()
            self._nbytes = 0

    def __deepcopy__(self, memo: Dict[int, Any]) -> "RecentFeatures":
        return RecentFeatures(self._max_bytes)

    def __reduce__(self) -> Tuple[Any, ...]:
        return RecentFeatures, (self._max_bytes,)
