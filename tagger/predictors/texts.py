"""Texts to tag: their sentences, their words, and where each word stands."""

import itertools
import re
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from allennlp.data import Token

from tagger.common.word_splitter import WordSplitter
from tagger_onnx.inputs import RUN_CHARACTERS, begin_of

# Where paragraphs meet.
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")


class Text(NamedTuple):
    """A sentence or a document.

    Attributes:
        text: Its characters.
        words: Its words.
        starts: The character offset at which each word starts.
        sentence_lengths: The number of words of each sentence.
    """

    text: str
    words: List[str]
    starts: List[int]
    sentence_lengths: List[int]

    def sentences(self) -> List[List[Token]]:
        """Returns the words of each sentence as tokens with character offsets."""
        tokens = iter(
            Token(word, idx=start, idx_end=start + len(word))
            for word, start in zip(self.words, self.starts)
        )
        return [list(itertools.islice(tokens, length)) for length in self.sentence_lengths]

    def sentence_spans(self) -> List[Tuple[int, int]]:
        """Returns the first and the last word of each sentence."""
        ends = itertools.accumulate(self.sentence_lengths)
        return [(end - length, end - 1) for end, length in zip(ends, self.sentence_lengths)]


def sentence_of_words(words: List[str]) -> Text:
    """Makes a sentence of words, which single blanks join."""
    ends = itertools.accumulate(len(word) + 1 for word in words)
    return Text(" ".join(words), words, [0, *ends][:-1], [len(words)])


def document_of_words(words: List[str], sentence_lengths: List[int]) -> Text:
    """As `sentence_of_words`, for a document."""
    return sentence_of_words(words)._replace(sentence_lengths=sentence_lengths)


def document_of_sentences(sentences: Sequence[Text]) -> Text:
    """Joins sentences by line feeds; those without a word are left out of `sentence_lengths`."""
    starts: List[int] = []
    offset = 0
    for sentence in sentences:
        starts += [offset + start for start in sentence.starts]
        offset += len(sentence.text) + 1
    return Text(
        "\n".join(sentence.text for sentence in sentences),
        [word for sentence in sentences for word in sentence.words],
        starts,
        [length for sentence in sentences for length in sentence.sentence_lengths if length > 0],
    )


class TextSplitter:
    """Splits texts by the rules of a language, which are part of spaCy; nothing is downloaded.

    Args:
        language: The spaCy code of the language.
        run_characters: See `WordSplitter`; an attribute too.
        sentence_borders: `"rules"` to end sentences at punctuation (spaCy's `sentencizer`) and at blank
            lines, `"lines"` to end them at every line's end.

    Raises:
        ConfigurationError: If spaCy has no such language.
    """

    def __init__(
        self,
        language: str,
        run_characters: Optional[int] = RUN_CHARACTERS,
        sentence_borders: str = "rules",
    ) -> None:
        self._words = WordSplitter(language, run_characters)
        self._words.pipeline.add_pipe("sentencizer")
        self._sentence_borders = sentence_borders
        self.run_characters = self._words.run_characters

    def sentence(self, text: str) -> Text:
        """Splits a sentence into words."""
        words, starts = self._words(text)
        return Text(text, words, starts, [len(words)])

    def document(self, text: str) -> Text:
        """Splits a document into sentences, and these into words."""
        words: List[str] = []
        starts: List[int] = []
        lengths: List[int] = []
        for offset, part in self._parts(text):
            for sentence in self._sentences(part):
                found = [token for token in sentence if not token.is_space]
                words += [token.text for token in found]
                starts += [offset + token.idx for token in found]
                lengths += [len(found)] if found else []
        return Text(text, words, starts, lengths)

    def _parts(self, text: str) -> Iterable[Tuple[int, str]]:
        """Returns lines, or paragraphs, each with its offset."""
        borders = re.compile("\n") if self._sentence_borders == "lines" else _BLANK_LINES
        ends = [border.span() for border in borders.finditer(text)]
        starts = [begin_of(text), *(end for _, end in ends)]
        stops = [*(start for start, _ in ends), len(text)]
        return [(start, text[start:stop]) for start, stop in zip(starts, stops)]

    def _sentences(self, part: str) -> Iterable[Any]:
        """Returns the tokens of each sentence of a line or paragraph."""
        if self._sentence_borders == "lines":
            return [self._words.pipeline.tokenizer(part)]
        return self._words.pipeline(part).sents
