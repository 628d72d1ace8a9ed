"""A text with its words and sentences."""

import itertools
from typing import List, NamedTuple, Optional, Sequence, Tuple

from tagger_texts.prediction import Entity, Prediction
from tagger_texts.segments import join_words


class Text(NamedTuple):
    """A sentence, or a document of several: its words, and where each starts in the text."""

    text: str
    words: List[str]
    starts: List[int]
    sentence_lengths: List[int]

    @classmethod
    def of_words(cls, words: Sequence[str]) -> "Text":
        """Makes a sentence from words, joined by single blanks if their script uses blanks."""
        text, starts = join_words(words)
        return cls(text, list(words), starts, [len(words)])

    @classmethod
    def of_sentences(cls, sentences: Sequence["Text"]) -> "Text":
        """Joins sentences by line feeds; `sentence_lengths` omits those without words."""
        offsets = itertools.accumulate((len(each.text) + 1 for each in sentences), initial=0)
        return cls(
            "\n".join(sentence.text for sentence in sentences),
            [word for sentence in sentences for word in sentence.words],
            [at + start for at, sentence in zip(offsets, sentences) for start in sentence.starts],
            [length for sentence in sentences for length in sentence.sentence_lengths if length],
        )

    def word_spans(self) -> List[Tuple[int, int]]:
        """Returns the start and end of each word."""
        return [(start, start + len(word)) for word, start in zip(self.words, self.starts)]

    def sentence_spans(self) -> List[Tuple[int, int]]:
        """Returns the first and the last word of each sentence."""
        return spans_of(self.sentence_lengths)

    def entity(self, label: str, first: int, last: int, probability: Optional[float]) -> Entity:
        """Returns an entity made of some of the words."""
        start, end = self.starts[first], self.starts[last] + len(self.words[last])
        return Entity(label, self.text[start:end], start, end, first, last, probability)

    def locate(self, prediction: Prediction, is_document: bool = False) -> Prediction:
        """Returns a prediction for these words with the text, and with the characters of entities."""
        sentences = self.sentence_spans() if is_document else None
        found = prediction._replace(text=self.text, tokens=self.words, sentences=sentences)
        return found.with_each(
            lambda own: self.entity(own.label, own.first, own.last, own.probability)
        )


def spans_of(lengths: Sequence[int]) -> List[Tuple[int, int]]:
    """Returns the first and the last word of each of some sentences, given their numbers of words.

    Example:
        >>> spans_of([3, 1])
        [(0, 2), (3, 3)]
    """
    ends = itertools.accumulate(lengths)
    return [(end - length, end - 1) for end, length in zip(ends, lengths)]
