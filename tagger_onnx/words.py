"""The forms under which words are looked for, and their hashes."""

import hashlib
import re
from typing import Tuple

_DIGIT = re.compile(r"\d")


def word_forms(word: str, lowercase: bool) -> Tuple[str, ...]:
    """Returns the forms under which a word is looked for, the best first.

    Args:
        word: The word.
        lowercase: Whether vectors are of lowercase words only, so that the first form is lowercase.

    Example:
        >>> word_forms("Room-12B", lowercase=False)
        ('Room-12B', 'room-12b', 'room-00b')
    """
    lower = word.lower()
    return (lower if lowercase else word, lower, _DIGIT.sub("0", lower))


def word_hash(word: str) -> int:
    """Returns a number of 64 bits, with a sign, that is the same in every process.

    Of a million words, two share one with a probability of 3 in 100 million.
    """
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
