"""A cache of words for indexers."""

from typing import Any, Callable, Dict, Generic, Iterable, List, Optional, Tuple, TypeVar

from allennlp.data import Token, Vocabulary

#: The most words in a cache, which take about 15 MB.
MAX_WORDS = 30_000

Value = TypeVar("Value")
Known = Dict[Optional[str], Value]


class WordCache(Generic[Value]):
    """Caches an indexer's result for each word, for one vocabulary at a time. Copies start empty."""

    def __init__(self) -> None:
        # The vocabulary, its size at the time, and the cached words.
        self._state: Tuple[Optional[Vocabulary], int, Known] = (None, 0, {})

    def of(
        self,
        tokens: Iterable[Token],
        vocab: Vocabulary,
        namespace: Optional[str],
        make: Callable[[Token], Value],
    ) -> List[Value]:
        """Returns the result for each token; tokens with the same word share one."""
        known = self._known(vocab, namespace)
        values = []
        for token in tokens:
            value = known.get(token.text)
            if value is None:
                value = known[token.text] = make(token)
            values.append(value)
        return values

    def _known(self, vocab: Vocabulary, namespace: Optional[str]) -> Known:
        size = 0 if namespace is None else vocab.get_vocab_size(namespace)
        owner, size_then, known = self._state
        if vocab is not owner or size != size_then or len(known) > MAX_WORDS:
            # Create a new dictionary, because another thread may be using the old one.
            known = {}
            self._state = vocab, size, known
        return known

    def __reduce__(self) -> Any:
        return type(self), ()
