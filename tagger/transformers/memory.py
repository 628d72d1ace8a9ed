"""Keeps states of frozen transformers in memory; `feature_store` keeps features on disk."""

import logging
import threading
from collections import OrderedDict
from typing import Any, Dict, Iterable, Optional, Tuple

import torch

logger = logging.getLogger(__name__)


class Memory:
    """Remembers tensors by key, up to `max_bytes`. Threads may share it; a copy starts empty.

    With a `warning`, it warns once when it is full, and takes no more; without, it forgets the oldest.
    """

    def __init__(self, max_bytes: float, warning: Optional[str] = None) -> None:
        self.num_bytes = 0
        self._max_bytes = max_bytes
        self._warning = warning
        self._is_full = False
        self._tensors: OrderedDict[bytes, torch.Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._tensors)

    def get(self, keys: Iterable[bytes]) -> Dict[bytes, torch.Tensor]:
        """Returns the tensors of those keys that it remembers."""
        with self._lock:
            return {key: self._tensors[key] for key in keys if key in self._tensors}

    def put(self, tensors: Dict[bytes, torch.Tensor]) -> None:
        """Remembers tensors, as long as there is room."""
        with self._lock:
            new = sum(each.nbytes for key, each in tensors.items() if key not in self._tensors)
            if self._warning and self.num_bytes + new > self._max_bytes:
                if not self._is_full:
                    logger.warning(self._warning)
                self._is_full = True
            if self._is_full:
                return
            self.num_bytes += new
            for key, tensor in tensors.items():
                self._tensors[key] = tensor
                self._tensors.move_to_end(key)
            while self.num_bytes > self._max_bytes:
                self.num_bytes -= self._tensors.popitem(last=False)[1].nbytes

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._tensors.clear()
            self.num_bytes = 0

    def __reduce__(self) -> Tuple[Any, ...]:
        return Memory, (self._max_bytes, self._warning)
