"""The tokens of an instance, for indexers that look at the document around them."""

from typing import List, Sequence

from allennlp.data import Token


class DocumentTokens(List[Token]):
    """The tokens of some sentences of a document, which knows the others.

    Args:
        document: The tokens of each sentence of the document.
        first: The first sentence.
        last: Where the sentences end, exclusive.

    Attributes:
        document: See above; the same object for all instances of a document.
        first: See above.
        last: See above.
    """

    def __init__(self, document: Sequence[Sequence[Token]], first: int, last: int) -> None:
        super().__init__(token for sentence in document[first:last] for token in sentence)
        self.document = document
        self.first = first
        self.last = last
