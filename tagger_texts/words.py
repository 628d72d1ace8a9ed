"""The forms under which words are looked up, their hashes, and their shapes."""

import functools
import hashlib
import itertools
import re
import unicodedata
from typing import Tuple

#: The longest shape: longer ones are too rare to learn from.
MAX_SIGNS = 8

_DIGIT = re.compile(r"\d")


def word_forms(word: str, lowercase: bool) -> Tuple[str, ...]:
    """Returns the forms under which a word is looked up, best first.

    Example:
        >>> word_forms("Room-12B", lowercase=False)
        ('Room-12B', 'room-12b', 'room-00b')
    """
    lower = word.lower()
    return (lower if lowercase else word, lower, _DIGIT.sub("0", lower))


def word_hash(word: str) -> int:
    """Returns a signed 64-bit number that is the same in every process.

    The probability that any two of a million words collide is 3 in 100 million.
    """
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


@functools.lru_cache(maxsize=100_000)
def word_shape(word: str) -> str:
    """Returns `X` for each capital, `x` for other letters, `d` for digits, other characters unchanged.

    Combining marks belong to their letters. A run of equal signs is cut to two, and a shape to its
    first `MAX_SIGNS`.

    Example:
        >>> [word_shape(word) for word in ("EU", "Lindqvist", "McDonald", "U.S.", "1996-08-22")]
        ['XX', 'Xxx', 'XxXxx', 'X.X.', 'dd-dd-dd']
        >>> word_shape("हिन्दी")
        'xx'
    """
    bare = word if word.isascii() else [each for each in word if not _is_mark(each)] or word
    runs = (list(run)[:2] for _, run in itertools.groupby(map(_sign, bare)))
    return "".join(itertools.chain.from_iterable(runs))[:MAX_SIGNS]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _sign(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character
