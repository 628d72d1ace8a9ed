"""Passages: what a transformer reads together, as pieces of words.

Letters: `P` pieces of a passage, `W` its words.
"""

import hashlib
from typing import Iterator, NamedTuple, Sequence

import numpy as np


class Passage(NamedTuple):
    """A run of whole sentences that a transformer reads together.

    Attributes:
        pieces: The pieces of all words, (P,) int32.
        num_pieces: The number of pieces of each word, (W,) int32, at least 1; their sum is P.
    """

    pieces: np.ndarray
    num_pieces: np.ndarray

    def key(self) -> bytes:
        """Returns 16 bytes that differ for other passages."""
        digest = hashlib.blake2b(self.num_pieces.tobytes(), digest_size=16)
        digest.update(self.pieces.tobytes())
        return digest.digest()


def passages_of(
    pieces: np.ndarray, num_pieces: np.ndarray, lengths: Sequence[int]
) -> Iterator[Passage]:
    """Cuts a text into its passages, given the number of words of each; 0 for none."""
    word, piece = 0, 0
    for length in lengths:
        if length:
            numbers = num_pieces[word : word + length]
            end = piece + int(numbers.sum())
            yield Passage(pieces[piece:end], numbers)
            word, piece = word + length, end
