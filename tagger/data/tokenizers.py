"""Tokenizers for texts. The archive stores the tokenizer, and every use of the tagger shares it."""

import logging
import re
from functools import cached_property
from typing import ClassVar, List, Optional, Tuple

import regex
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Token, Tokenizer

from tagger.common.word_splitter import WordSplitter
from tagger_texts.inputs import InputError, begin_of
from tagger_texts.segments import PATTERNS, splitter_at

logger = logging.getLogger(__name__)

#: A regular expression may take this many seconds per text.
_TIMEOUT = 5.0
#: The longest pattern. Compiling takes time that is quadratic in the number of groups, and a config may
#: have hundreds.
_MAX_PATTERN = 2_000
# A minimum number of repetitions, which a pattern stands for when it is compiled, and what is before it.
_REPETITION = re.compile(r"(.)\{([0-9]{1,9})", re.DOTALL)


class SegmentTokenizer(Tokenizer):
    """Splits texts independently of the language; see `tagger_texts.segments`."""

    #: The name of the pattern.
    name: ClassVar[str]
    _said: ClassVar[str]

    def tokenize(self, text: str) -> List[Token]:
        return [Token(word, idx=start) for word, start in splitter_at(PATTERNS[self.name])(text)]

    def __str__(self) -> str:
        return self._said


@Tokenizer.register("blanks")
class BlanksTokenizer(SegmentTokenizer):
    """Splits only at white space, so that `Chicago,` keeps its comma.

    Example:
        >>> [(token.text, token.idx) for token in BlanksTokenizer().tokenize("in  Chicago, IL")]
        [('in', 0), ('Chicago,', 4), ('IL', 13)]
    """

    name, _said = "blanks", "blanks"


@Tokenizer.register("punctuation")
class PunctuationTokenizer(SegmentTokenizer):
    """Splits at white space and around each punctuation mark, as BERT does before its word pieces.

    Example:
        >>> [token.text for token in PunctuationTokenizer().tokenize("don't go, U.S.")]
        ['don', "'", 't', 'go', ',', 'U', '.', 'S', '.']
    """

    name, _said = "punctuation", "blanks and punctuation"


@Tokenizer.register("words")
class WordsTokenizer(SegmentTokenizer):
    """Makes each word and each other sign a token, in any script.

    In scripts without blanks, such as Chinese and Thai, each character is a token, except that runs of
    Katakana stay together.

    Example:
        >>> [token.text for token in WordsTokenizer().tokenize("他在Google工作了10年。")]
        ['他', '在', 'Google', '工', '作', '了', '10', '年', '。']
    """

    name, _said = "words", "words in any script"


@Tokenizer.register("words_and_numbers")
class WordsAndNumbersTokenizer(SegmentTokenizer):
    """Splits like `words`, and between letters and digits too.

    Example:
        >>> [token.text for token in WordsAndNumbersTokenizer().tokenize("EUR500 or 10mg")]
        ['EUR', '500', 'or', '10', 'mg']
    """

    name, _said = "words_and_numbers", "words and numbers"


@Tokenizer.register("characters")
class CharactersTokenizer(SegmentTokenizer):
    """Makes each character a token, with the marks and joiners that belong to it.

    Example:
        >>> [token.text for token in CharactersTokenizer().tokenize("ที่ 5G")]
        ['ที่', '5', 'G']
    """

    name, _said = "characters", "characters"


@Tokenizer.register("language_rules")
class LanguageRulesTokenizer(Tokenizer):
    """Splits by spaCy's rules for a language; nothing is downloaded.

    Args:
        language: The spaCy code of the language.

    Raises:
        ConfigurationError: On first use, if spaCy has no such language.

    Example:
        >>> [token.text for token in LanguageRulesTokenizer("it").tokenize("L'Adda, a Como.")]
        ["L'", 'Adda', ',', 'a', 'Como', '.']
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language

    @cached_property
    def splitter(self) -> WordSplitter:
        """The rules, loaded lazily because that takes a second."""
        return WordSplitter(self.language)

    def tokenize(self, text: str) -> List[Token]:
        return [Token(word, idx=start) for word, start in zip(*self.splitter(text))]

    def __str__(self) -> str:
        return f"the rules of `{self.language}`"


@Tokenizer.register("regular_expression")
class RegularExpressionTokenizer(Tokenizer):
    r"""Makes each match of a regular expression a token, except empty matches.

    Args:
        pattern: The expression, in the syntax of the package `regex`, such as `\p{L}+|\d+|\S`.

    Raises:
        ConfigurationError: If it is not a regular expression, or too long to compile in a moment.

    Example:
        >>> [token.text for token in RegularExpressionTokenizer(r"\w+|\S").tokenize("5mg/d")]
        ['5mg', '/', 'd']
    """

    def __init__(self, pattern: str) -> None:
        size = _written_out(pattern)
        if size > _MAX_PATTERN:
            raise ConfigurationError(
                f"`pattern` must have at most {_MAX_PATTERN} characters, with repetitions such as "
                f"`(...){{3}}` written out; got about {size}; shorten it"
            )
        self.pattern = pattern
        try:
            self._expression = regex.compile(pattern)
        except regex.error as error:
            raise ConfigurationError(
                f"`pattern` must be a regular expression; got {pattern!r}: {error}"
            ) from error

    def tokenize(self, text: str) -> List[Token]:
        try:
            found = list(self._expression.finditer(text, timeout=_TIMEOUT))
        except TimeoutError:
            raise InputError(
                f"the tokenizer's regular expression took more than {_TIMEOUT:g} s for {text[:50]!r}; "
                "simplify its `pattern`, or give lists of tokens"
            ) from None
        return [Token(each[0], idx=each.start()) for each in found if each[0]]

    def __str__(self) -> str:
        return f"the regular expression {self._expression.pattern}"


def _written_out(pattern: str) -> int:
    """Estimates the length of a pattern with its repetitions written out, as the package compiles it."""
    size, factor = len(pattern), 1
    for before, count in _REPETITION.findall(pattern):
        # A count behind a bracket repeats a group, as may one behind white space or another repetition.
        if before in ")}?*+" or before.isspace():
            factor *= max(1, int(count))
        else:
            size += int(count)
    return size * factor


def tokenizer_of(
    dataset_reader: DatasetReader, language: Optional[str] = None
) -> Tuple[Tokenizer, str]:
    """Returns the tokenizer for a tagger's texts, and the language for splitting sentences.

    A reader without a tokenizer uses its language's rules; a given `language` wins, with a warning.
    """
    own_language = getattr(dataset_reader, "language", None) or "en"
    own = getattr(dataset_reader, "tokenizer", None) or LanguageRulesTokenizer(own_language)
    if language is None:
        return own, own_language
    chosen = LanguageRulesTokenizer(language)
    if str(chosen) != str(own):
        logger.warning(
            "Texts are split by %s; the tagger was trained on text split by %s", chosen, own
        )
    return chosen, language


def max_sentence_tokens_of(dataset_reader: DatasetReader) -> Optional[int]:
    """Returns the longest text, in tokens, that a tagger does not split into sentences; None for any."""
    return getattr(dataset_reader, "max_sentence_tokens", None)


def words_of(tokenizer: Tokenizer, text: str) -> Tuple[List[str], List[int]]:
    """Splits a text into words with offsets, dropping white space and a leading byte order mark.

    Tokens without an offset are searched for in the text, in order.
    """
    words, starts = [], []
    begin = end = begin_of(text)
    # Replacing the mark with a blank keeps the offsets.
    for token in tokenizer.tokenize(" " * begin + text[begin:]):
        word = token.text or ""
        if not word.strip():
            continue
        start = text.find(word, end) if token.idx is None else token.idx
        if start < 0:
            raise InputError(
                f"the tokenizer made {word!r} of {text[:50]!r}, which does not contain it; use "
                "a tokenizer that keeps characters unchanged, or give lists of tokens"
            )
        end = start + len(word)
        words.append(word)
        starts.append(start)
    return words, starts
