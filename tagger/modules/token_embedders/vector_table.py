"""Pretrained word vectors that no training step touches, found by the hashes of their words."""

from pathlib import Path
from typing import Any, Dict, List, Union

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from tqdm import tqdm

from tagger.data.token_indexers import word_hash


class VectorTable(torch.nn.Module):
    """Word vectors in half precision, which training leaves as they are.

    They take two bytes a number and eight bytes a word, in memory and in archives, and load without
    their words.

    Letters: `V` words in the table, `D` features.

    Args:
        dimension: The features of a vector.
    """

    # (V,) int64, sorted
    hashes: torch.Tensor
    # (V, D) float16
    vectors: torch.Tensor

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.register_buffer("hashes", torch.empty(0, dtype=torch.int64))
        self.register_buffer("vectors", torch.empty(0, dimension, dtype=torch.float16))

    def __len__(self) -> int:
        return len(self.hashes)

    def read(self, file: Union[str, Path]) -> None:
        """Fills the table from a text file: a word and its numbers on each line, apart by blanks.

        A first line of two numbers, as word2vec writes it, is skipped. Of a word's vectors the first
        counts.

        Raises:
            ConfigurationError: If a line does not hold as many numbers as the table has features.
            FileNotFoundError: If there is no such file.
        """
        hashes: List[int] = []
        rows: List[np.ndarray] = []
        dimension = self.vectors.size(1)
        with open(cached_path(file), encoding="utf-8", errors="surrogateescape") as lines:
            for number, line in enumerate(tqdm(lines, desc="reading word vectors", leave=False), 1):
                # A word may hold blanks.
                word, *numbers = line.rstrip().rsplit(" ", dimension)
                if number == 1 and len(numbers) == 1 and word.isdigit():
                    continue
                if len(numbers) != dimension:
                    raise ConfigurationError(
                        f"{file}:{number}: expected a word and {dimension} numbers, got "
                        f"{len(line.split()) - 1} numbers; correct `embedding_dim` or the file"
                    )
                rows.append(np.array(numbers, dtype=np.float32).astype(np.float16))
                hashes.append(word_hash(word))
        unique, firsts = np.unique(np.array(hashes, dtype=np.int64), return_index=True)
        self.hashes = torch.from_numpy(unique)
        self.vectors = torch.from_numpy(np.stack(rows)[firsts])

    def find(self, hashes: torch.Tensor) -> torch.Tensor:
        """Returns the rows of words, int64 of any shape, -1 for words that the table lacks.

        Args:
            hashes: The hashes of the words, int64.
        """
        if len(self) == 0:
            return torch.full_like(hashes, -1)
        places = torch.searchsorted(self.hashes, hashes).clamp(max=len(self) - 1)
        return torch.where(self.hashes[places] == hashes, places, -1)

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *rest: Any) -> None:
        """Takes the size from the archive: without the file of vectors a new table is empty."""
        for name in ("hashes", "vectors"):
            stored = state_dict.get(prefix + name)
            if stored is not None:
                buffer = getattr(self, name)
                setattr(self, name, buffer.new_empty(stored.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)
