"""What a file's indexers look up for words: the inputs of its graph.

Letters: `B` batch, `T` tokens, `W` distinct words, `C` characters, `P` word pieces.
"""

from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from tagger_onnx.words import word_forms, word_hash, word_shape

# In every vocabulary 0 is padding and 1 the unknown word.
_UNKNOWN = 1
# The most words whose pieces are remembered.
_MAX_WORDS = 100_000

Inputs = Dict[str, np.ndarray]


class WordIds:
    """Gives each word its index in a vocabulary."""

    def __init__(self, name: str, description: Dict[str, Any]) -> None:
        self._name = name
        self._lowercase = description["lowercase"]
        self._index_of = _indices(description["vocabulary"])

    def __call__(self, words: Sequence[str], rows: np.ndarray, lengths: np.ndarray) -> Inputs:
        """Returns `ids`, (W,)."""
        ids = [self._index_of.get(text, _UNKNOWN) for text in self._texts(words)]
        return {f"{self._name}_ids": np.array(ids, dtype=np.int64)}

    def _texts(self, words: Sequence[str]) -> Sequence[str]:
        return [word.lower() for word in words] if self._lowercase else words


class ShapeIds(WordIds):
    """Gives each word the index of its shape; arguments as for `WordIds`."""

    def _texts(self, words: Sequence[str]) -> Sequence[str]:
        return [word_shape(word) for word in words]


class Characters:
    """Gives each word the indices of its characters; arguments as for `WordIds`."""

    def __init__(self, name: str, description: Dict[str, Any]) -> None:
        self._name = name
        self._lowercase = description["lowercase"]
        self._min_length = description["min_length"]
        # None for AllenNLP's indexer, which reads all characters.
        self._max_length = description.get("max_length")
        self._index_of = _indices(description["vocabulary"])

    def __call__(self, words: Sequence[str], rows: np.ndarray, lengths: np.ndarray) -> Inputs:
        """Returns `characters`, (W, C), padded with 0."""
        texts = [word[: self._max_length] for word in words]
        if self._lowercase:
            texts = [text.lower() for text in texts]
        width = max(self._min_length, *map(len, texts))
        characters = np.zeros((len(texts), width), dtype=np.int64)
        for row, text in zip(characters, texts):
            row[: len(text)] = [self._index_of.get(each, _UNKNOWN) for each in text]
        return {f"{self._name}_characters": characters}


class Forms:
    """Gives each word the indices and the hashes of its forms; arguments as for `WordIds`."""

    def __init__(self, name: str, description: Dict[str, Any]) -> None:
        self._name = name
        self._lowercase = description["lowercase"]
        self._index_of = _indices(description["vocabulary"])

    def __call__(self, words: Sequence[str], rows: np.ndarray, lengths: np.ndarray) -> Inputs:
        """Returns `indices` and `hashes`, both (W, 3)."""
        forms = [word_forms(word, self._lowercase) for word in words]
        indices = [[self._index_of.get(form, _UNKNOWN) for form in own] for own in forms]
        hashes = [[word_hash(form) for form in own] for own in forms]
        return {
            f"{self._name}_indices": np.array(indices, dtype=np.int64),
            f"{self._name}_hashes": np.array(hashes, dtype=np.int64),
        }


class Pieces:
    """Splits words into the word pieces of a transformer; arguments as for `WordIds`.

    Raises:
        ImportError: If the package `tokenizers` is missing.
    """

    def __init__(self, name: str, description: Dict[str, Any]) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ImportError(
                "this tagger has a transformer, whose word pieces the package `tokenizers` finds; "
                "install it: pip install tokenizers"
            ) from error
        self._name = name
        self._start, self._end = description["start"], description["end"]
        self._padding, self._max_pieces = description["padding"], description["max_pieces"]
        # Of a word without any; taggers over AllenNLP's embedder have none there either.
        self._unknown: List[int] = description.get("unknown", [])
        self._tokenizer = Tokenizer.from_str(description["tokenizer"])
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._known: Dict[str, List[int]] = {}

    def __call__(self, words: Sequence[str], rows: np.ndarray, lengths: np.ndarray) -> Inputs:
        """Returns `pieces`, (B, P), `num_pieces`, (B,), and `offsets`, (B, T, 2), inclusive.

        Raises:
            ValueError: If a sentence has more pieces than the transformer takes.
        """
        pieces_of = [self._pieces(word) for word in words]
        offsets = np.full((*rows.shape, 2), -1, dtype=np.int64)
        sentences = []
        for sentence, (row, length) in enumerate(zip(rows, lengths)):
            pieces = list(self._start)
            for token, word in enumerate(row[:length]):
                own = pieces_of[word]
                if own:
                    offsets[sentence, token] = len(pieces), len(pieces) + len(own) - 1
                pieces += own
            sentences.append(pieces + self._end)
        num_pieces = np.array([len(each) for each in sentences], dtype=np.int64)
        if self._max_pieces is not None and num_pieces.max() > self._max_pieces:
            raise ValueError(
                f"a text has {num_pieces.max()} word pieces, but the transformer takes at most "
                f"{self._max_pieces}; split the text"
            )
        padded = np.full((len(rows), num_pieces.max()), self._padding, dtype=np.int64)
        for row, each in zip(padded, sentences):
            row[: len(each)] = each
        return {
            f"{self._name}_pieces": padded,
            f"{self._name}_num_pieces": num_pieces,
            f"{self._name}_offsets": offsets,
        }

    def _pieces(self, word: str) -> List[int]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _MAX_WORDS:
                self._known.clear()
            known = self._tokenizer.encode(word, add_special_tokens=False).ids or self._unknown
            self._known[word] = known
        return known


# By the kind that a description names.
KINDS: Dict[str, Callable[[str, Dict[str, Any]], Callable[..., Inputs]]] = {
    "ids": WordIds,
    "shapes": ShapeIds,
    "characters": Characters,
    "forms": Forms,
    "pieces": Pieces,
}


def distinct_words(sentences: Sequence[Sequence[str]]) -> Tuple[List[str], np.ndarray, np.ndarray]:
    """Returns what all indexers look at.

    Returns:
        The W distinct words; which of them each token is, (B, T) int64, 0 in the padding; and the
        numbers of tokens, (B,) int64.
    """
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    places: Dict[str, int] = {}
    rows = np.zeros((len(sentences), lengths.max()), dtype=np.int64)
    for row, sentence in zip(rows, sentences):
        row[: len(sentence)] = [places.setdefault(word, len(places)) for word in sentence]
    return list(places), rows, lengths


def _indices(vocabulary: Sequence[str]) -> Dict[str, int]:
    return {text: index for index, text in enumerate(vocabulary)}
