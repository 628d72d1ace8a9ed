"""A token indexer that tells words apart by their shape alone: capitals, digits and signs."""

import functools
import itertools

from allennlp.data import Token, TokenIndexer
from allennlp.data.token_indexers import SingleIdTokenIndexer

#: The most signs of a shape: longer ones are too rare to learn from.
MAX_SIGNS = 8


@functools.lru_cache(maxsize=100_000)
def word_shape(word: str) -> str:
    """Returns `X` for each capital, `x` for other letters, `d` for digits, other characters as they are.

    Of a run of equal signs two stay, and of a long shape the first `MAX_SIGNS`.

    Example:
        >>> [word_shape(word) for word in ("EU", "Lindqvist", "McDonald", "U.S.", "1996-08-22")]
        ['XX', 'Xxx', 'XxXxx', 'X.X.', 'dd-dd-dd']
    """
    runs = (list(run)[:2] for _, run in itertools.groupby(map(_sign, word)))
    return "".join(itertools.chain.from_iterable(runs))[:MAX_SIGNS]


@TokenIndexer.register("word_shapes")
class WordShapesIndexer(SingleIdTokenIndexer):
    """Gives each word the index of its shape, for AllenNLP's token embedder `embedding`.

    Where capitals matter and word vectors are of lowercase words, it tells the encoder what the vectors
    hide, at next to no cost. Collobert et al. (2011) have four such shapes.

    Args:
        namespace: The vocabulary's namespace of the shapes.
        token_min_padding_length: As for all of AllenNLP's indexers.
    """

    def __init__(self, namespace: str = "word_shapes", token_min_padding_length: int = 0) -> None:
        super().__init__(namespace, token_min_padding_length=token_min_padding_length)

    def _get_feature_value(self, token: Token) -> str:
        return word_shape(token.text or "")


def _sign(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character
