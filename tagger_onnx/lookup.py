"""The lookups of an exported tagger's indexers, which are the inputs of its graph.

Each kind of indexer is a function of its name and its description in the file's metadata. It returns a
function of the W distinct words, the index of each token's word, (B, T), and the numbers of tokens,
(B,).
"""

import functools
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from tagger_texts.words import word_forms, word_hash, word_shape

# In every vocabulary, 0 is padding and 1 the unknown word.
_UNKNOWN = 1
# The largest number of words with cached pieces.
_MAX_WORDS = 100_000

Inputs = Dict[str, np.ndarray]
LookUp = Callable[[Sequence[str], np.ndarray, np.ndarray], Inputs]
Description = Dict[str, Any]


def word_ids(name: str, description: Description) -> LookUp:
    """Looks up `ids`, (W,), the index of each word."""
    index_of = _index_of(description)
    lowercase = description["lowercase"]

    def look_up(words: Sequence[str], *_: np.ndarray) -> Inputs:
        ids = [index_of(word.lower() if lowercase else word) for word in words]
        return {f"{name}_ids": np.array(ids, dtype=np.int64)}

    return look_up


def shape_ids(name: str, description: Description) -> LookUp:
    """Looks up `ids`, (W,), the index of each word's shape."""
    of_shapes = word_ids(name, description)
    return lambda words, *rows: of_shapes([word_shape(word) for word in words], *rows)


def character_ids(name: str, description: Description) -> LookUp:
    """Looks up `characters`, (W, C), the index of each character, padded with 0."""
    index_of = _index_of(description)
    # None for AllenNLP's indexer, which reads all characters.
    max_length = description.get("max_length")
    lowercase, min_length = description["lowercase"], description["min_length"]

    def look_up(words: Sequence[str], *_: np.ndarray) -> Inputs:
        texts = [word[:max_length].lower() if lowercase else word[:max_length] for word in words]
        characters = np.zeros((len(texts), max(min_length, *map(len, texts))), dtype=np.int64)
        for row, text in zip(characters, texts):
            row[: len(text)] = [index_of(each) for each in text]
        return {f"{name}_characters": characters}

    return look_up


def form_ids(name: str, description: Description) -> LookUp:
    """Looks up `indices` and `hashes`, both (W, 3), of the forms of each word."""
    index_of = _index_of(description)
    lowercase = description["lowercase"]

    def look_up(words: Sequence[str], *_: np.ndarray) -> Inputs:
        forms = [word_forms(word, lowercase) for word in words]
        return {
            f"{name}_{kind}": np.array([[of(form) for form in own] for own in forms], np.int64)
            for kind, of in (("indices", index_of), ("hashes", word_hash))
        }

    return look_up


def word_pieces(name: str, description: Description) -> LookUp:
    """Looks up `pieces`, (B, P), `num_pieces`, (B,), and `offsets`, (B, T, 2), both ends inclusive."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError(
            "this tagger has a transformer and needs the package `tokenizers` to find word pieces; "
            "install it: pip install tokenizers"
        ) from error
    tokenizer = Tokenizer.from_str(description["tokenizer"])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    start, end, most = (description[each] for each in ("start", "end", "max_pieces"))
    padding = description["padding"]
    # The pieces for a word that has none; empty for AllenNLP's embedder.
    unknown = description.get("unknown", [])

    @functools.lru_cache(_MAX_WORDS)
    def pieces_of(word: str) -> List[int]:
        ids: List[int] = tokenizer.encode(word, add_special_tokens=False).ids
        return ids or unknown

    def look_up(words: Sequence[str], rows: np.ndarray, lengths: np.ndarray) -> Inputs:
        offsets = np.full((*rows.shape, 2), -1, dtype=np.int64)
        sentences = []
        for sentence, (row, length) in enumerate(zip(rows, lengths)):
            pieces = list(start)
            for token, word in enumerate(row[:length]):
                own = pieces_of(words[word])
                if own:
                    offsets[sentence, token] = len(pieces), len(pieces) + len(own) - 1
                pieces += own
            sentences.append(pieces + end)
        num_pieces = np.array([len(each) for each in sentences], dtype=np.int64)
        if most is not None and num_pieces.max() > most:
            raise ValueError(
                f"a text has {num_pieces.max()} word pieces, but the transformer takes at most {most}; "
                "split the text"
            )
        padded = np.full((len(rows), num_pieces.max()), padding, dtype=np.int64)
        for row, each in zip(padded, sentences):
            row[: len(each)] = each
        found = {"pieces": padded, "num_pieces": num_pieces, "offsets": offsets}
        return {f"{name}_{kind}": values for kind, values in found.items()}

    return look_up


#: The lookup function for each kind of indexer.
KINDS: Dict[str, Callable[[str, Description], LookUp]] = {
    "ids": word_ids,
    "shapes": shape_ids,
    "characters": character_ids,
    "forms": form_ids,
    "pieces": word_pieces,
}


def distinct_words(sentences: Sequence[Sequence[str]]) -> Tuple[List[str], np.ndarray, np.ndarray]:
    """Returns the W distinct words, the index of each token's word, (B, T), and token counts, (B,)."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    places: Dict[str, int] = {}
    rows = np.zeros((len(sentences), lengths.max()), dtype=np.int64)
    for row, sentence in zip(rows, sentences):
        row[: len(sentence)] = [places.setdefault(word, len(places)) for word in sentence]
    return list(places), rows, lengths


def _index_of(description: Description) -> Callable[[str], int]:
    indices = {text: index for index, text in enumerate(description["vocabulary"])}
    return lambda text: indices.get(text, _UNKNOWN)
