"""Windows: the word pieces of a text that a transformer reads together, and which states are kept.

A transformer reads a bounded number of pieces at a time. Sentences of one text share a window as long
as they fit, so that each is read in context. A sentence that is longer than a window is read in several
overlapping windows, and each piece keeps the state of the window in which it is farthest from a border.

The functions are called in this order:

1. `group_sentences`, which makes the passages of a frozen transformer, and `overlapping_windows`, or
   both at once in `windows_of_text`;
2. `WordPieces.padded` makes a batch of pieces, for the transformer;
3. `kept_states` picks the state of each piece from the transformer's output;
4. `pool_pieces` pools these to one state for each word.

Letters: `N` windows, `L` pieces of the longest with its special ones, `P` pieces, `W` words.
"""

import hashlib
import itertools
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch

from tagger.common.ranges import check_is_one_of, check_number

#: How the states of a word's pieces become the word's.
POOLINGS = ("mean", "first", "last")

# Windows are padded to multiples of this: larger ones pad more, smaller ones make smaller batches.
_STEP = 4
# Products of matrices with fewer rows are computed differently.
_SHORTEST = 16

# Kinds of models with positions that start after the padding's index.
_OFFSET_MODELS = (
    "ibert", "layoutlmv3", "lilt", "roberta", "camembert", "data2vec-text", "esm", "longformer",
    "luke", "markuplm", "mpnet", "xmod",
)  # fmt: skip


class Passage(NamedTuple):
    """A run of whole sentences that a transformer reads together."""

    pieces: np.ndarray  # (P,) int32
    num_pieces: np.ndarray  # (W,) int32, at least 1; their sum is P

    def key(self) -> bytes:
        """Returns 16 bytes that identify the passage."""
        digest = hashlib.blake2b(self.num_pieces.tobytes(), digest_size=16)
        digest.update(self.pieces.tobytes())
        return digest.digest()


class Window(NamedTuple):
    """Pieces of a text that are read together, `start` up to `end`, exclusive.

    The states of those from `first` up to `last`, exclusive, are kept.
    """

    start: int
    end: int
    first: int
    last: int


def check_windows(max_pieces: int, overlap: int) -> None:
    """Raises a `ConfigurationError` unless windows of `max_pieces` can share `overlap` pieces."""
    check_number("max_pieces", max_pieces, max_pieces >= 1, "at least 1")
    expected = f"at least 0 and below `max_pieces` ({max_pieces})"
    check_number("overlap", overlap, 0 <= overlap < max_pieces, expected)


def longest_window(config: Any) -> Optional[int]:
    """Returns the most pieces that a transformer of this config reads together, special ones included.

    `None` means that it reads any number.

    Example:
        >>> from transformers import BertConfig, RobertaConfig
        >>> longest_window(BertConfig()), longest_window(RobertaConfig(max_position_embeddings=514))
        (512, 512)
    """
    positions = getattr(config, "max_position_embeddings", None)
    if config.model_type == "mpt":  # has this name for the length of its biases
        positions = config.max_seq_len
    # Some models use only distances.
    if not positions or positions < 0 or not getattr(config, "position_biased_input", True):
        return None
    if any(kind in config.model_type for kind in _OFFSET_MODELS):
        return int(positions) - (config.pad_token_id or 0) - 1
    return int(positions)


def group_sentences(lengths: Sequence[int], max_pieces: int) -> List[Tuple[int, int]]:
    """Groups neighbouring sentences to be read together.

    There are as few groups as possible, and the largest is as small as that allows, so no sentence at
    the end of a document is left with little context. A sentence that is longer than a window is a
    separate group. A group is a pair, its first sentence and its end, exclusive.

    Example:
        >>> group_sentences([4, 4, 4, 1], max_pieces=12)
        [(0, 2), (2, 4)]
    """
    fewest = len(_grouped(lengths, max_pieces))
    low, high = 1, max_pieces
    while low < high:
        middle = (low + high) // 2
        if len(_grouped(lengths, middle)) == fewest:
            high = middle
        else:
            low = middle + 1
    return _grouped(lengths, high)


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


def overlapping_windows(num_pieces: int, max_pieces: int, overlap: int) -> List[Window]:
    """Returns windows of about the same size; each piece of the text is kept from one of them.

    Neighbouring windows share at least `overlap` pieces, which is below `max_pieces`.

    Example:
        >>> overlapping_windows(10, max_pieces=6, overlap=2)
        [Window(start=0, end=6, first=0, last=5), Window(start=4, end=10, first=5, last=10)]
    """
    if num_pieces <= max_pieces:
        return [Window(0, num_pieces, 0, num_pieces)] if num_pieces else []
    number = 1 + -(-(num_pieces - max_pieces) // (max_pieces - overlap))
    # The last one ends with the text.
    starts = [index * (num_pieces - max_pieces) // (number - 1) for index in range(number)]
    # Halfway through what two neighbours share.
    borders = [(before + max_pieces + after) // 2 for before, after in itertools.pairwise(starts)]
    return [
        Window(start, start + max_pieces, first, last)
        for start, first, last in zip(starts, [0, *borders], [*borders, num_pieces])
    ]


def windows_of_text(sentence_lengths: Sequence[int], max_pieces: int, overlap: int) -> List[Window]:
    """Like `overlapping_windows`, but only sentences that are longer than a window are cut.

    Example:
        >>> windows_of_text([2, 3, 9], max_pieces=6, overlap=2)[0]
        Window(start=0, end=5, first=0, last=5)
    """
    windows: List[Window] = []
    offset = 0
    for start, end in group_sentences(sentence_lengths, max_pieces):
        num_pieces = sum(sentence_lengths[start:end])
        windows += [
            Window(*(offset + place for place in window))
            for window in overlapping_windows(num_pieces, max_pieces, overlap)
        ]
        offset += num_pieces
    return windows


def padded_lengths(lengths: np.ndarray, longest: Optional[int]) -> np.ndarray:
    """Returns the lengths to which windows are padded, so that their states do not depend on the batch.

    Attention sums over a window in vector registers, and over the remainder in another order. So the
    last digits of a window's states depend on its padding, and rounding to 8 bits can amplify this. If
    a batch has only windows of one padded length, a window's padding is the same in every batch.

    `lengths` are the numbers of pieces, special ones included, (N,).

    Example:
        >>> padded_lengths(np.array([3, 17, 20, 510]), longest=510)
        array([ 16,  20,  20, 510])
    """
    padded = np.maximum(_SHORTEST, -(-lengths // _STEP) * _STEP)
    return padded if longest is None else np.minimum(padded, longest)


def kept_states(
    states: torch.Tensor, windows: Sequence[Window], num_start_pieces: int
) -> torch.Tensor:
    """Picks the states that windows keep, (P, ...), from those of a batch, (N, L, ...), in order.

    Differentiable.
    """
    begins = np.arange(len(windows)) * states.size(1) + num_start_pieces
    places = [
        np.arange(window.first, window.last) + (begin - window.start)
        for begin, window in zip(begins, windows)
    ]
    return states.flatten(0, 1)[torch.from_numpy(np.concatenate(places)).to(states.device)]


def pool_pieces(
    states: torch.Tensor, num_pieces: torch.Tensor, pooling: str = "mean"
) -> torch.Tensor:
    """Pools the states of pieces, (P, ...), to one for each word, (W, ...). Differentiable.

    `num_pieces`, (W,) int64, are at least 1, and their sum is P.
    """
    check_is_one_of("pooling", pooling, POOLINGS)
    num_pieces = num_pieces.to(states.device)
    ends = num_pieces.cumsum(0)
    if pooling == "last":
        return states[ends - 1]
    if pooling == "first":
        return states[ends - num_pieces]
    words = torch.repeat_interleave(
        torch.arange(len(num_pieces), device=states.device), num_pieces, output_size=len(states)
    )
    sums = states.new_zeros(len(num_pieces), *states.shape[1:]).index_add(0, words, states)
    return sums / num_pieces.view(-1, *[1] * (states.dim() - 1))


def _grouped(lengths: Sequence[int], max_pieces: int) -> List[Tuple[int, int]]:
    groups: List[Tuple[int, int]] = []
    start, size = 0, 0
    for index, length in enumerate(lengths):
        if index > start and size + length > max_pieces:
            groups.append((start, index))
            start, size = index, 0
        size += length
    return [*groups, (start, len(lengths))] if lengths else []
