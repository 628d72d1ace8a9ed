"""A token embedder that marks the terms of the user's own lists in a text."""

import logging
from pathlib import Path
from typing import List, Optional, Sequence

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import TokenEmbedder
from tqdm import tqdm

from tagger.common.ranges import check_number
from tagger.data.text_encodings import decoded_lines
from tagger.modules.token_embedders.hash_table import HashTable
from tagger_texts.words import word_forms, word_hash

logger = logging.getLogger(__name__)

# A token stands alone, first, inside or last in a term.
_PLACES = 4
# Mixes the hashes of a term's words modulo 2^64.
_FACTOR = -7046029254386353131
_MODULUS = 1 << 64


@TokenEmbedder.register("lexicon")
class Lexicon(TokenEmbedder):
    """Marks each token's place in the longest term of each list that covers it (Chiu & Nichols 2016).

    A list is a text file in UTF-8 with a term on each line, and blanks between its tokens. Lists may
    have millions of terms. Each term takes eight bytes, and one more for each list, in memory and in
    archives, which store hashes instead of words. The indexer is `lexicon`.

    Letters: `B` batch, `T` tokens, `F` forms of a word, `L` lists, `V` terms.

    Args:
        names: The names of the lists.
        pretrained_file: The folder of the lists, `NAME.txt` for each name. An archive does not need it.
        lowercase: Whether to ignore case.
        max_length: The most words of a term; longer terms are ignored, and a log line says how many.

    Raises:
        ConfigurationError: If there is no list, a name is given twice or a list has no term.
    """

    def __init__(
        self,
        names: Sequence[str],
        pretrained_file: Optional[str] = None,
        lowercase: bool = False,
        max_length: int = 8,
    ) -> None:
        super().__init__()
        if not names or len(set(names)) < len(names):
            raise ConfigurationError(f"`names` must be the names of lists, each once; got {names}")
        check_number("max_length", max_length, max_length >= 1, "at least 1")
        self.names = list(names)
        self.lowercase = lowercase
        self.max_length = max_length
        # Each row says for each list whether it contains the term.
        self.terms = HashTable(len(names), torch.bool)
        if pretrained_file is not None:
            self._read(Path(pretrained_file))

    def get_output_dim(self) -> int:
        return _PLACES * len(self.names)

    def forward(self, indices: torch.Tensor, hashes: torch.Tensor) -> torch.Tensor:
        """Marks the tokens that lie in terms: (B, T, 4 * L), for each list alone, first, inside or last.

        Of two terms of the same length, the one that starts first counts. The arguments are the indices
        of each word's forms, (B, T, F) int64, 0 in the padding, and their hashes.
        """
        is_real = indices[:, :, 0] != 0
        batch_size, num_tokens = is_real.shape
        words = hashes[:, :, 1 if self.lowercase else 0]
        # (B, T, L): 1 + the place of each token
        places = words.new_zeros(batch_size, num_tokens, len(self.names))
        # (B, T): the hash of the term of `length` words that starts at each token
        terms = torch.zeros_like(words)
        for length in range(1, min(self.max_length, num_tokens) + 1):
            starts = num_tokens - length + 1
            terms = terms[:, :starts] * _FACTOR + words[:, length - 1 :]
            # (B, starts, L)
            is_term = self._find(terms) & is_real[:, length - 1 :].unsqueeze(2)
            # Longer terms are written last, and of equally long ones the first.
            for offset in range(length if bool(is_term.any()) else 0):
                place = 2 if offset == 0 else 4 if offset == length - 1 else 3
                places[:, offset : offset + starts][is_term] = place if length > 1 else 1
        return torch.nn.functional.one_hot(places, _PLACES + 1)[..., 1:].flatten(2).float()

    def _find(self, terms: torch.Tensor) -> torch.Tensor:
        """Whether each list holds each term, (..., L) bool; `terms` are hashes."""
        if len(self.terms) == 0:
            return torch.zeros(*terms.shape, len(self.names), dtype=torch.bool, device=terms.device)
        places = self.terms.find(terms)
        return self.terms.rows[places.clamp(min=0)] & (places >= 0).unsqueeze(-1)

    def _read(self, folder: Path) -> None:
        of_lists: List[np.ndarray] = []
        for name in self.names:
            hashes, num_long = [], 0
            path = folder / f"{name}.txt"
            with (
                open(path, "rb") as lines,
                tqdm(lines, desc=f"reading {path}", leave=False) as shown,
            ):
                for _, line in decoded_lines(shown, path):
                    words = line.split()
                    num_long += len(words) > self.max_length
                    if 0 < len(words) <= self.max_length:
                        hashes.append(self._term_hash(words))
            if not hashes:
                raise ConfigurationError(
                    f"{path}: expected a term on each line, of at most {self.max_length} words, got none"
                )
            if num_long:
                logger.warning(
                    "%s: left out %d terms of more than %d words", path, num_long, self.max_length
                )
            of_lists.append(np.unique(np.array(hashes, dtype=np.int64)))
        every = np.unique(np.concatenate(of_lists))
        self.terms.hashes = torch.from_numpy(every)
        is_in_list = [np.isin(every, own) for own in of_lists]
        self.terms.rows = torch.from_numpy(np.stack(is_in_list, axis=1))

    def _term_hash(self, words: Sequence[str]) -> int:
        """The hash that `forward` computes, signed."""
        mixed = 0
        for word in words:
            mixed = mixed * _FACTOR + word_hash(word_forms(word, self.lowercase)[0])
        mixed %= _MODULUS
        return mixed - _MODULUS if mixed >= _MODULUS // 2 else mixed
