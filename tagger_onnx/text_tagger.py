"""What all taggers of texts offer, whatever computes their tags."""

import itertools
from abc import ABC, abstractmethod
from typing import (
    AbstractSet,
    Any,
    ClassVar,
    Generic,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from tagger_onnx.inputs import RUN_CHARACTERS, InputError, check_text_or_tokens, check_tokens
from tagger_onnx.tagged_text import Extras, TaggedText, extras_of

#: A text, in each form that a tagger takes.
T = TypeVar("T")


class TextTagger(ABC, Generic[T]):
    """Tags one text, several, or any number; `text_types` are the classes of a single text."""

    text_types: ClassVar[Tuple[type, ...]] = (str,)
    run_characters: Optional[int] = RUN_CHARACTERS

    @overload
    def tag(
        self,
        inputs: Optional[T] = None,
        *,
        tokens: Optional[Sequence[str]] = None,
        probabilities: bool = False,
        leak_labels: Sequence[str] = (),
        candidates: Optional[float] = None,
    ) -> TaggedText: ...

    @overload
    def tag(
        self,
        inputs: Iterable[Union[T, Sequence[str]]],
        *,
        probabilities: bool = False,
        leak_labels: Sequence[str] = (),
        candidates: Optional[float] = None,
    ) -> List[TaggedText]: ...

    def tag(
        self,
        inputs: Union[T, Iterable[Union[T, Sequence[str]]], None] = None,
        *,
        tokens: Optional[Sequence[str]] = None,
        probabilities: bool = False,
        leak_labels: Sequence[str] = (),
        candidates: Optional[float] = None,
    ) -> Union[TaggedText, List[TaggedText]]:
        """Tags a text, or many at once, which is faster than one by one.

        Args:
            inputs: A text; or any number of texts and of lists of tokens. What the method `split` of a
                `tagger.SavedTagger` returns may stand in place of a text there.
            tokens: The tokens of one text, instead of `inputs`.
            probabilities: Whether to return the probabilities of all tags of each token.
            leak_labels: Labels whose entities must not be missed; with some of them each result has its
                `leak_probability` and `expected_missed`.
            candidates: A probability above 0; with it each result has as `candidates` every entity that
                is at least that probable, predicted or not.

        Returns:
            The text with its tags and entities, or a list of such for several inputs, in their order. A
            text without a token has none.

        Raises:
            InputError: If an input is neither a text nor a list of tokens; it is a `TypeError` and a
                `ValueError`.
            ValueError: If a text is too long for the transformer of an exported tagger, or the tagger
                cannot give what is asked for (a `ConfigurationError`, except from an exported tagger).
        """
        extras = extras_of(probabilities, leak_labels, candidates)
        if (inputs is None) == (tokens is None):
            raise InputError("give either `inputs`, one text or several, or `tokens`")
        if tokens is not None:
            return self._tag_all([check_tokens(tokens)], extras)[0]
        if isinstance(inputs, self.text_types):
            return self._tag_all([self._checked(inputs, "inputs")], extras)[0]
        # The fields of an object are no texts, and a set would lose their order.
        no_texts = (bytes, bytearray, Mapping, AbstractSet)
        if not isinstance(inputs, Iterable) or isinstance(inputs, no_texts):
            raise InputError(f"`inputs` must be a text, or a list of several; got {inputs!r:.200}")
        return self._tag_all(self._all_checked(inputs), extras)

    def stream(
        self,
        inputs: Iterable[Union[T, Sequence[str]]],
        *,
        window: int = 2048,
        probabilities: bool = False,
        leak_labels: Sequence[str] = (),
        candidates: Optional[float] = None,
    ) -> Iterator[TaggedText]:
        """Tags any number of inputs one after another, such as the lines of a file.

        `window` of them are read, sorted by length and tagged at a time, and are in memory together. The
        other arguments are those of `tag`. Yields the results in the order of the inputs.
        """
        extras = extras_of(probabilities, leak_labels, candidates)
        inputs, position = iter(inputs), 0
        while some := list(itertools.islice(inputs, window)):
            yield from self._tag_all(self._all_checked(some, position), extras)
            position += len(some)

    def _all_checked(self, inputs: Iterable[Any], position: int = 0) -> List[Any]:
        """Checks inputs, of which the first is at a position of all."""
        return [
            self._checked(each, f"inputs[{number}]") for number, each in enumerate(inputs, position)
        ]

    def _checked(self, value: Any, name: str) -> Any:
        if isinstance(value, self.text_types) and not isinstance(value, str):
            return value
        return check_text_or_tokens(value, name, self.run_characters)

    @abstractmethod
    def _tag_all(self, inputs: List[Union[T, Sequence[str]]], extras: Extras) -> List[TaggedText]:
        """Tags texts and lists of tokens, which are checked, and keeps their order."""


def batches(lengths: Sequence[int], most_items: int) -> Iterator[List[int]]:
    """Yields the indices of texts that have an item, by length, in batches of a limited padded size."""
    batch: List[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if lengths[index] == 0:
            continue
        if batch and lengths[index] * (len(batch) + 1) > most_items:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
