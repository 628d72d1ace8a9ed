"""Rows of numbers that are found by hashes."""

from typing import Any, Dict

import torch


class HashTable(torch.nn.Module):
    """Rows that training leaves as they are, found by hashes. An archive holds them.

    Letters: `V` rows, `D` numbers of a row.

    Args:
        width: D.
        dtype: The type of the numbers.
    """

    # (V,) int64, sorted
    hashes: torch.Tensor
    # (V, D)
    rows: torch.Tensor

    def __init__(self, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("hashes", torch.empty(0, dtype=torch.int64))
        self.register_buffer("rows", torch.empty(0, width, dtype=dtype))

    def __len__(self) -> int:
        return len(self.hashes)

    def find(self, hashes: torch.Tensor) -> torch.Tensor:
        """Returns the places of rows, int64 of any shape, -1 for hashes that the table lacks.

        Args:
            hashes: The hashes of the rows, int64.
        """
        if len(self) == 0:
            return torch.full_like(hashes, -1)
        places = torch.searchsorted(self.hashes, hashes).clamp(max=len(self) - 1)
        return torch.where(self.hashes[places] == hashes, places, -1)

    def drop(self, places: torch.Tensor) -> None:
        """Takes entries out.

        Args:
            places: Where they are, (any,) int64, as `find` returns them.
        """
        is_kept = torch.ones(len(self), dtype=torch.bool)
        is_kept[places] = False
        self.hashes, self.rows = self.hashes[is_kept], self.rows[is_kept]

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *rest: Any) -> None:
        """Takes the size from the archive: a new table is empty."""
        for name in ("hashes", "rows"):
            stored = state_dict.get(prefix + name)
            if stored is not None:
                setattr(self, name, getattr(self, name).new_empty(stored.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)
