"""Documents: cut into pieces, and their words told apart."""

from typing import Dict, List, Sequence, Sized, TypeVar

S = TypeVar("S", bound=Sized)


def cut_document(sentences: Sequence[S], max_tokens: int) -> List[List[S]]:
    """Cuts a document at the borders of sentences into as few pieces of like length as will do.

    Args:
        sentences: The sentences of the document.
        max_tokens: The most tokens of a piece. A sentence that is longer makes a piece of its own.

    Example:
        >>> cut_document(["aaa", "bb", "ccc", "dd"], max_tokens=6)
        [['aaa', 'bb'], ['ccc', 'dd']]
    """
    num_tokens = sum(map(len, sentences))
    for num_pieces in range(max(1, -(-num_tokens // max_tokens)), len(sentences)):
        pieces = _cut_evenly(sentences, num_tokens / num_pieces)
        if all(len(piece) == 1 or sum(map(len, piece)) <= max_tokens for piece in pieces):
            return pieces
    return [list(sentences)] if num_tokens <= max_tokens else [[each] for each in sentences]


def word_ids(words: Sequence[str]) -> List[int]:
    """Numbers the distinct words of a document; words that differ in case alone are the same.

    Example:
        >>> word_ids(["The", "bank", "and", "the", "Bank"])
        [0, 1, 2, 0, 1]
    """
    numbers: Dict[str, int] = {}
    return [numbers.setdefault(word.lower(), len(numbers)) for word in words]


def _cut_evenly(sentences: Sequence[S], target: float) -> List[List[S]]:
    """Puts each sentence into the piece in which its middle lies, of pieces of `target` tokens."""
    pieces: Dict[int, List[S]] = {}
    start = 0
    for sentence in sentences:
        pieces.setdefault(int((start + len(sentence) / 2) / target), []).append(sentence)
        start += len(sentence)
    return list(pieces.values())
