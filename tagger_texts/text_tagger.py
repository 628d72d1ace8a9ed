"""The methods that all taggers of texts share."""

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

from tagger_texts.inputs import RUN_CHARACTERS, InputError, check_text_or_tokens, check_tokens
from tagger_texts.recordings import check_numbers
from tagger_texts.tagged_text import Extras, SetThresholds, TaggedText, extras_of

#: The type of a single text: a string, or the result of `tagger.SavedTagger.split`.
T = TypeVar("T")


class TextTagger(ABC, Generic[T]):
    """Tags one text, several, or a stream; `text_types` are the classes of a single text."""

    text_types: ClassVar[Tuple[type, ...]] = (str,)
    run_characters: Optional[int] = RUN_CHARACTERS
    #: How many numbers each step of a recording has, if the tagger reads recordings in place of texts.
    step_size: Optional[int] = None

    @overload
    def tag(
        self,
        inputs: Optional[T] = None,
        *,
        tokens: Optional[Sequence[str]] = None,
        probabilities: bool = False,
        leak_labels: Sequence[str] = (),
        candidates: Optional[float] = None,
        sets: bool = False,
    ) -> TaggedText: ...

    @overload
    def tag(
        self,
        inputs: Iterable[Union[T, Sequence[str]]],
        *,
        probabilities: bool = False,
        leak_labels: Sequence[str] = (),
        candidates: Optional[float] = None,
        sets: bool = False,
    ) -> List[TaggedText]: ...

    def tag(
        self,
        inputs: Union[T, Iterable[Union[T, Sequence[str]]], None] = None,
        *,
        tokens: Optional[Sequence[str]] = None,
        probabilities: bool = False,
        leak_labels: Sequence[str] = (),
        candidates: Optional[float] = None,
        sets: bool = False,
    ) -> Union[TaggedText, List[TaggedText]]:
        """Tags one text or many; tagging many in one call is faster than one by one.

        Args:
            inputs: A text, or any number of texts and lists of tokens. A list may also contain texts
                split with `tagger.SavedTagger.split`.
            tokens: The tokens of one text, instead of `inputs`.
            probabilities: Whether to return the probabilities of all tags of each token.
            leak_labels: Labels of entities that must not be missed. If given, each result has a
                `leak_probability` and `expected_missed`.
            candidates: A probability above 0. If given, the `candidates` of each result are all
                entities that are at least that probable, predicted or not.
            sets: Whether to return the `sets` and `sequences` of what is uncertain. They hold the truth
                with the confidence for which `allennlp tune-decoding --sets` calibrated the archive.

        Returns:
            The text with its tags and entities, or for several inputs a list in the same order. A text
            without tokens has none.

        Raises:
            InputError: If an input is neither a text nor a list of tokens; it is a `TypeError` and a
                `ValueError`.
            ValueError: If a text is too long for the transformer of an exported tagger, or if the
                tagger does not support what is asked for (a `ConfigurationError`, except from
                exported ones).
        """
        extras = self._extras_of(probabilities, leak_labels, candidates, sets)
        if (inputs is None) == (tokens is None):
            raise InputError("give either `inputs`, one text or several, or `tokens`")
        if tokens is not None:
            return self._tag_all([check_tokens(tokens)], extras)[0]
        if self._is_single(inputs):
            return self._tag_all([self._checked(inputs, "inputs")], extras)[0]
        # Mappings contain more than texts, and sets have no order.
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
        sets: bool = False,
    ) -> Iterator[TaggedText]:
        """Tags a stream of inputs, such as the lines of a file, and yields the results in order.

        Inputs are read, sorted by length and tagged in groups of `window`, which are in memory
        together. The other arguments are those of `tag`.
        """
        extras = self._extras_of(probabilities, leak_labels, candidates, sets)
        inputs, position = iter(inputs), 0
        while some := list(itertools.islice(inputs, window)):
            yield from self._tag_all(self._all_checked(some, position), extras)
            position += len(some)

    def _is_single(self, inputs: Any) -> bool:
        """Whether an input is one text, or one recording, and not several."""
        is_recording = self.step_size is not None and getattr(inputs, "ndim", None) == 2
        return is_recording or isinstance(inputs, self.text_types)

    def _all_checked(self, inputs: Iterable[Any], position: int = 0) -> List[Any]:
        """Checks inputs; `position` is the index of the first one among all inputs."""
        return [
            self._checked(each, f"inputs[{number}]") for number, each in enumerate(inputs, position)
        ]

    def _checked(self, value: Any, name: str) -> Any:
        if self.step_size is not None:
            return check_numbers(value, self.step_size, name)
        if isinstance(value, self.text_types) and not isinstance(value, str):
            return value
        return check_text_or_tokens(value, name, self.run_characters)

    def _extras_of(
        self,
        probabilities: bool,
        leak_labels: Sequence[str],
        candidates: Optional[float],
        sets: bool,
    ) -> Extras:
        thresholds = self.set_thresholds() if sets else None
        return extras_of(probabilities, leak_labels, candidates, thresholds)

    def set_thresholds(self) -> SetThresholds:
        """Returns the thresholds of `sets`; raises a `ValueError` if this tagger gives none."""
        raise ValueError(
            "this tagger gives no `sets`; load an archive that `allennlp tune-decoding --sets` has "
            "written by `tagger.load`"
        )

    @abstractmethod
    def _tag_all(self, inputs: List[Union[T, Sequence[str]]], extras: Extras) -> List[TaggedText]:
        """Tags checked texts and lists of tokens, and keeps their order."""
