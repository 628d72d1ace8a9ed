"""Documents: their tokens, cutting them into pieces, and numbering their words."""

import logging
from os import PathLike
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Sized, TypeVar, Union

from allennlp.data import Token

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=Sized)


class DocumentTokens(List[Token]):
    """The tokens of a document's sentences `first` to `last` (exclusive).

    It also keeps all sentences of the document, and their original `texts`, if known, with offsets in
    the tokens.
    """

    def __init__(
        self,
        document: Sequence[Sequence[Token]],
        first: int,
        last: int,
        texts: Optional[Sequence[str]] = None,
    ) -> None:
        super().__init__(token for sentence in document[first:last] for token in sentence)
        self.document = document
        self.first = first
        self.last = last
        self.texts = texts


def as_document(sentences: Sequence[Sequence[Union[str, Token]]]) -> List[List[Token]]:
    """Returns the sentences of a document as tokens."""
    return [
        [Token(token) if isinstance(token, str) else token for token in sentence]
        for sentence in sentences
    ]


def tokens_of_instances(
    document: Sequence[Sequence[Token]],
    are_sentences: bool,
    texts: Optional[Sequence[str]] = None,
) -> List[DocumentTokens]:
    """Returns the tokens of each of a document's instances: the document, or its sentences."""
    if are_sentences:
        return [DocumentTokens(document, at, at + 1, texts) for at in range(len(document))]
    return [DocumentTokens(document, 0, len(document), texts)]


def cut_document(sentences: Sequence[S], max_tokens: int) -> List[List[S]]:
    """Cuts a document between sentences into as few pieces as possible, of similar length.

    A sentence of more than `max_tokens` tokens is a piece by itself.

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


def cut_documents(
    documents: Iterable[Sequence[S]],
    name: Union[str, PathLike],
    borders: Optional[str],
    max_tokens: int,
) -> Iterator[List[S]]:
    """Yields the pieces of a file's documents, see `cut_document`; logs how many were cut.

    Without `borders`, each sentence is a piece.
    """
    if borders is None:
        yield from ([sentence] for document in documents for sentence in document)
        return
    num_documents, num_cut, num_long = 0, 0, 0
    for document in documents:
        pieces = cut_document(document, max_tokens)
        num_documents += 1
        num_cut += len(pieces) > 1
        num_long += sum(len(sentence) > max_tokens for sentence in document)
        yield from pieces
    logger.info(
        "%s: %d documents, of which %d were cut into pieces of at most %d tokens",
        *(name, num_documents, num_cut, max_tokens),
    )
    if num_long:
        logger.warning(
            "%s: %d sentences have more than `max_document_tokens` (%d) tokens; each stays whole",
            *(name, num_long, max_tokens),
        )
    if num_documents == 1 and num_cut:
        logger.warning(
            "%s: `documents` is %r, but the file has no such border, so it counts as one document; "
            "check this argument",
            *(name, borders),
        )


def word_ids(words: Sequence[str]) -> List[int]:
    """Numbers the distinct words of a document, ignoring case.

    Example:
        >>> word_ids(["The", "bank", "and", "the", "Bank"])
        [0, 1, 2, 0, 1]
    """
    numbers: Dict[str, int] = {}
    return [numbers.setdefault(word.lower(), len(numbers)) for word in words]


def _cut_evenly(sentences: Sequence[S], target: float) -> List[List[S]]:
    """Cuts at multiples of `target` tokens; a sentence joins the piece that contains its middle."""
    pieces: Dict[int, List[S]] = {}
    start = 0
    for sentence in sentences:
        pieces.setdefault(int((start + len(sentence) / 2) / target), []).append(sentence)
        start += len(sentence)
    return list(pieces.values())
