"""Splits texts into tokens, and documents into sentences."""

import itertools
from functools import cached_property
from typing import Any, Iterable, Iterator, List, Optional, Tuple

import regex
from allennlp.data import Token, Tokenizer

from tagger.common.word_splitter import sentence_pipeline
from tagger.data.tokenizers import LanguageRulesTokenizer, words_of
from tagger_texts.inputs import RUN_CHARACTERS, begin_of, longest_run
from tagger_texts.segments import before_emoji
from tagger_texts.sentences import BLANK_LINES, FULL_STOPS, sentence_lengths
from tagger_texts.text import Text

# Full stops that always end a sentence, with any closing quotes.
_FULL_STOPS = regex.compile(rf"[{FULL_STOPS}]+[\p{{Pe}}\p{{Pf}}\"']*\s*")


def tokens_of(text: Text) -> List[List[Token]]:
    """Returns the words of each sentence as tokens with character offsets."""
    tokens = iter(
        Token(word, idx=start, idx_end=end)
        for word, (start, end) in zip(text.words, text.word_spans())
    )
    return [list(itertools.islice(tokens, length)) for length in text.sentence_lengths]


class TextSplitter:
    """Splits texts into tokens, and documents into sentences.

    The arguments are those of `SequenceTaggerPredictor` and its reader. The attribute `run_characters`
    is None for tokenizers without such a limit.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        language: str = "en",
        run_characters: Optional[int] = RUN_CHARACTERS,
        sentence_borders: str = "rules",
        max_sentence_tokens: Optional[int] = None,
    ) -> None:
        self.tokenizer = tokenizer
        self._max_sentence_tokens = max_sentence_tokens
        self._sentence_borders = sentence_borders
        self._language = language
        self._uses_rules = (
            isinstance(tokenizer, LanguageRulesTokenizer) and tokenizer.splitter.has_rules
        )
        self.run_characters = run_characters if self._uses_rules else None

    def sentence(self, text: str) -> Text:
        """Splits a text into tokens, and if it is long, into sentences by rule."""
        found = self.whole(text)
        return found._replace(
            sentence_lengths=sentence_lengths(text, found.starts, self._max_sentence_tokens)
        )

    def whole(self, text: str) -> Text:
        """Splits a sentence into tokens, however long it is."""
        words, starts = words_of(self.tokenizer, text)
        return Text(text, words, starts, [len(words)])

    def document(self, text: str) -> Text:
        """Splits a document into sentences, and these into tokens."""
        found = Text(text, [], [], [])
        for offset, sentence in self._sentences(text):
            words, starts = words_of(self.tokenizer, sentence)
            found.words.extend(words)
            found.starts.extend(offset + start for start in starts)
            found.sentence_lengths.extend([len(words)] if words else [])
        return found

    def _sentences(self, text: str) -> Iterable[Tuple[int, str]]:
        """Yields each sentence with its offset."""
        is_by_line = self._sentence_borders == "lines"
        borders = regex.compile("\n") if is_by_line else BLANK_LINES
        ends = [border.span() for border in borders.finditer(text)]
        starts = [begin_of(text), *(end for _, end in ends)]
        stops = [*(start for start, _ in ends), len(text)]
        paragraphs = zip(starts, stops)
        if is_by_line:
            yield from ((start, text[start:stop]) for start, stop in paragraphs)
            return
        parts = (_parts(text, *each) for each in paragraphs)
        for start, stop in itertools.chain.from_iterable(parts):
            part = text[start:stop]
            if not self._uses_rules and longest_run(part) > RUN_CHARACTERS:
                yield start, part
                continue
            sentences = self._sentencizer(part).sents
            begins = before_emoji(part, (each.start_char for each in sentences))
            for begin, end in itertools.pairwise([*begins, len(part)]):
                yield start + begin, part[begin:end]

    @cached_property
    def _sentencizer(self) -> Any:
        return sentence_pipeline(self._language)


def _parts(text: str, start: int, stop: int) -> Iterator[Tuple[int, int]]:
    """Yields the parts of a paragraph that end with an unambiguous full stop."""
    for full_stop in _FULL_STOPS.finditer(text, start, stop):
        yield start, full_stop.end()
        start = full_stop.end()
    yield start, stop
