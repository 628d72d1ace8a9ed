"""What is remembered in memory: features of the last passages, and states of frozen layers.

`feature_store` keeps features on disk, for later runs.
"""

import logging
import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch
from torch.nn.utils.rnn import pad_sequence

logger = logging.getLogger(__name__)


class RecentFeatures:
    """Mixed features of the passages that were embedded last, up to a size."""

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


class StateCache:
    """Remembers the states of windows, so that each is computed once, as long as there is room.

    States are kept as float16 in the memory of the processor.

    Letters: `N` windows, `L` pieces of the longest, `D` features.

    Args:
        max_bytes: The most that is kept. Windows beyond it are computed each time, after a warning.
    """

    def __init__(self, max_bytes: float) -> None:
        self.num_bytes = 0
        self._max_bytes = max_bytes
        self._is_full = False
        self._states: Dict[bytes, torch.Tensor] = {}

    def __len__(self) -> int:
        return len(self._states)

    def states(
        self,
        pieces: torch.Tensor,
        mask: torch.Tensor,
        compute: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> torch.Tensor:
        """Returns the states of windows, (N, L, D) float32, 0 in the padding, on their device.

        Args:
            pieces: (N, L) int64.
            mask: (N, L) bool, right-padded.
            compute: Computes states, (N, L, D), of pieces and mask.
        """
        lengths = mask.sum(1).tolist()
        rows = pieces.cpu().numpy()
        keys = [row[:length].tobytes() for row, length in zip(rows, lengths)]
        found = {key: self._states[key] for key in keys if key in self._states}
        missing = [row for row, key in enumerate(keys) if key not in found]
        if missing:
            width = max(lengths[row] for row in missing)
            chosen = torch.tensor(missing, device=pieces.device)
            new = compute(pieces[chosen, :width], mask[chosen, :width]).half().cpu()
            for row, states in zip(missing, new):
                # A copy, so that the batch is not kept.
                found[keys[row]] = states[: lengths[row]].clone()
            self._keep({keys[row]: found[keys[row]] for row in missing})
        padded = pad_sequence([found[key] for key in keys], batch_first=True)
        return padded.to(pieces.device).float()

    def _keep(self, states: Dict[bytes, torch.Tensor]) -> None:
        size = sum(each.nbytes for each in states.values())
        if not self._is_full and self.num_bytes + size > self._max_bytes:
            self._is_full = True
            logger.warning(
                "The states of the frozen layers fill the %g GB of `max_cache_gb`; those of further "
                "texts are computed in each epoch; raise it if there is memory",
                self._max_bytes / 1e9,
            )
        if not self._is_full:
            self._states.update(states)
            self.num_bytes += size
