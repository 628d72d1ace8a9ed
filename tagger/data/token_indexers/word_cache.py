"""What indexers remember of words."""

from typing import Any, Dict, Generic, Optional, Tuple, TypeVar

from allennlp.data import Vocabulary

#: The most words that are remembered, because a file may have any number.
MAX_WORDS = 100_000

Value = TypeVar("Value")
Known = Dict[Optional[str], Value]


class WordCache(Generic[Value]):
    """What an indexer has made of each distinct word, for one vocabulary at a time.

    A copy of it, or a pickled one, is empty.
    """

    def __init__(self) -> None:
        # The vocabulary, its size at the time, and what is known with it.
        self._state: Tuple[Optional[Vocabulary], int, Known] = (None, 0, {})

    def of(self, vocabulary: Vocabulary, namespace: Optional[str]) -> Known:
        """Returns what is known with a vocabulary, by word, to be looked into and added to."""
        size = 0 if namespace is None else vocabulary.get_vocab_size(namespace)
        owner, size_then, known = self._state
        if vocabulary is not owner or size != size_then or len(known) > MAX_WORDS:
            # A new dictionary: another thread may be using the old one.
            known = {}
            self._state = vocabulary, size, known
        return known

    def __reduce__(self) -> Any:
        return type(self), ()
