"""Rows of numbers, such as word vectors, that are looked up by hashes."""

from pathlib import Path
from typing import Any, Dict, List, Union

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from tqdm import tqdm

from tagger.common.inputs import open_input
from tagger.data.text_encodings import decoded_lines
from tagger_texts.words import word_hash


class HashTable(torch.nn.Module):
    """Rows that are looked up by hashes, and not trained. Archives contain them.

    Letters: `V` rows, `D` numbers of a row.
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
        """Returns the places of rows by their hashes, both int64 of any shape; -1 for unknown ones."""
        if len(self) == 0:
            return torch.full_like(hashes, -1)
        places = torch.searchsorted(self.hashes, hashes).clamp(max=len(self) - 1)
        return torch.where(self.hashes[places] == hashes, places, -1)

    def drop(self, places: torch.Tensor) -> None:
        """Removes the entries at these places, (any,) int64, as `find` returns them."""
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


class VectorTable(HashTable):
    """Word vectors of `dimension` features in half precision, which are not trained.

    They take two bytes per number and eight bytes per word, in memory and in archives. The words
    themselves are not stored.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension, torch.float16)

    def read(self, file: Union[str, Path]) -> None:
        """Fills the table from a text file: a word and its numbers on each line, separated by blanks.

        A first line of two numbers, as in files of word2vec, is skipped. If a word has several vectors,
        the first counts. Any other line without `dimension` half-precision numbers is a
        `ConfigurationError`.
        """
        hashes: List[int] = []
        vectors: List[np.ndarray] = []
        dimension = self.rows.size(1)
        with (
            open_input(file) as lines,
            tqdm(lines, desc="reading word vectors", leave=False) as shown,
        ):
            for number, line in decoded_lines(shown, file):
                # A word may hold blanks.
                word, *numbers = line.rstrip().rsplit(" ", dimension)
                if number == 1 and len(numbers) == 1 and word.isdigit():
                    continue
                if len(numbers) != dimension:
                    raise ConfigurationError(
                        f"{file}:{number}: expected a word and {dimension} numbers, got "
                        f"{len(line.split()) - 1} numbers; correct `embedding_dim` or the file"
                    )
                vectors.append(_vector(numbers, f"{file}:{number}"))
                hashes.append(word_hash(word))
        if not vectors:
            raise ConfigurationError(f"{file}: expected word vectors, got an empty file")
        unique, firsts = np.unique(np.array(hashes, dtype=np.int64), return_index=True)
        self.hashes = torch.from_numpy(unique)
        self.rows = torch.from_numpy(np.stack(vectors)[firsts])


def _vector(numbers: List[str], place: str) -> np.ndarray:
    try:
        vector = np.array(numbers, dtype=np.float32)
        # Half precision ends at 65,504.
        with np.errstate(over="ignore"):
            vector = vector.astype(np.float16)
    except ValueError as error:
        raise ConfigurationError(f"{place}: expected a word and its numbers; {error}") from None
    if not np.isfinite(vector).all():
        raise ConfigurationError(f"{place}: expected finite numbers below 65,504, got another")
    return vector
