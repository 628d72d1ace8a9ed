"""Cuts words into the pieces of a transformer's vocabulary."""

import itertools
from typing import Any, Dict, List, Sequence, Tuple

import torch

from tagger.transformers.tokenizer_rules import without_panic

#: The most words for which pieces are remembered.
MAX_WORDS = 100_000


class WordPieces:
    """Cuts words into pieces, each distinct word once.

    Each word is cut by itself, as inside a sentence. A word without a piece, such as one of invisible
    characters, gets the unknown piece. A tokenizer that recognises words by the blank before them must
    have been created with `add_prefix_space=True`.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._pieces: Dict[str, List[int]] = {}
        self.start_pieces, self.end_pieces = special_pieces(tokenizer)
        self.padding: int = tokenizer.pad_token_id or 0
        unknown = tokenizer.unk_token_id
        self._unknown: int = self.padding if unknown is None else unknown

    def __call__(self, words: Sequence[str]) -> List[List[int]]:
        """Returns the pieces of each word, at least one; do not modify them."""
        known = self._pieces
        new = [word for word in dict.fromkeys(words) if word not in known]
        if new:
            if len(known) + len(new) > MAX_WORDS:
                # Another thread may be reading the old one.
                known = self._pieces = {}
                new = list(dict.fromkeys(words))
            # Half of a surrogate pair cannot be encoded as text.
            texts = [word.encode(errors="replace").decode() for word in new]
            with without_panic("the transformer"):
                cut = self._tokenizer(
                    texts, add_special_tokens=False, truncation=False, verbose=False
                )["input_ids"]
            known.update(zip(new, (pieces or [self._unknown] for pieces in cut)))
        return [known[word] for word in words]

    def joined(self, words: Sequence[str]) -> Tuple[List[int], List[int]]:
        """Returns the pieces of all words, one after the other, and the number of pieces of each."""
        pieces = self(words)
        return list(itertools.chain.from_iterable(pieces)), list(map(len, pieces))

    def padded(
        self, windows: Sequence[Sequence[int]], min_length: int = 0
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """Returns windows with special pieces, (N, L) int64, L at least `min_length`, and their mask."""
        rows = [[*self.start_pieces, *own, *self.end_pieces] for own in windows]
        length = max(min_length, *map(len, rows))
        padded = [row + [self.padding] * (length - len(row)) for row in rows]
        mask = torch.arange(length) < torch.tensor([[len(row)] for row in rows])
        return torch.tensor(padded), mask

    def __getstate__(self) -> Dict[str, Any]:
        """Leaves out the pieces; a copy computes them again."""
        return {**self.__dict__, "_pieces": {}}


def special_pieces(tokenizer: Any) -> Tuple[List[int], List[int]]:
    """Returns the pieces that a tokenizer puts before and after a text, such as `[CLS]` and `[SEP]`."""
    plain: List[int] = tokenizer("a", add_special_tokens=False)["input_ids"]
    framed: List[int] = tokenizer("a")["input_ids"]
    for start in range(len(framed) - len(plain) + 1):
        if framed[start : start + len(plain)] == plain:
            return framed[:start], framed[start + len(plain) :]
    return [], []
