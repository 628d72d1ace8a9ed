"""Splits texts into words by a language's rules."""

import contextlib
import importlib
import sys
from types import ModuleType
from typing import Any, Iterator, List, Optional, Tuple

from tagger.common.from_allennlp import ConfigurationError
from tagger_compat.libraries import stand_in_modules
from tagger_texts.segments import Token, split_around_emoji

#: After this many new words, about 20 MB, a new spaCy pipeline replaces the old one, in 60 ms.
MAX_WORDS = 50_000


def import_spacy() -> ModuleType:
    """Imports spaCy lazily, and without its command line, which takes half of the import time."""
    if "spacy" not in sys.modules:
        names, remedy = ("spacy.cli", "spacy.cli.info"), "import it from `spacy.cli`"
        with stand_in_modules(names, remedy, sys.modules[__name__]):
            importlib.import_module("spacy")
    return sys.modules["spacy"]


class WordSplitter:
    """Splits texts into words by spaCy's rules, dropping white space and a leading byte order mark.

    Unlike spaCy, it cuts no emoji: each emoji of several code points is a word.

    `has_rules` is false for languages such as Chinese.

    Raises:
        ConfigurationError: If spaCy lacks the language, or a library for the language is missing.
    """

    def __init__(self, language: str) -> None:
        spacy = import_spacy()
        try:
            self.pipeline: Any = spacy.blank(language)
        except Exception as error:  # A name such as `examples` finds a module of another kind.
            reason = " ".join(str(error).split())
            raise ConfigurationError(
                f"`language` must be the code of a language of spaCy, such as `en` or `de`; got "
                f"{language!r:.100}: {reason:.300}"
            ) from error
        self.has_rules = isinstance(self.pipeline.tokenizer, spacy.tokenizer.Tokenizer)
        self._language = language
        self._most_words = len(self.pipeline.vocab.strings) + MAX_WORDS

    def __call__(self, text: str) -> Tuple[List[str], List[int]]:
        """Returns the words of a text, and the character offset at which each starts."""
        # spaCy keeps every word it has seen, so the memory of a service would grow forever.
        if len(self.pipeline.vocab.strings) > self._most_words:
            self.pipeline = import_spacy().blank(self._language)
        words = split_around_emoji(text, self._words)
        return [word for word, _ in words], [start for _, start in words]

    def _words(self, text: str) -> Iterator[Token]:
        found = self.pipeline.tokenizer(text)
        return (Token(token.text, token.idx) for token in found if not token.is_space)


def sentence_pipeline(language: str) -> Any:
    """Returns spaCy's `sentencizer` after the language's rules, if any, which know abbreviations."""
    splitter = splitter_at_hand(language)
    pipeline = (splitter if splitter and splitter.has_rules else WordSplitter("xx")).pipeline
    pipeline.add_pipe("sentencizer")
    return pipeline


def splitter_at_hand(language: str) -> Optional[WordSplitter]:
    """Returns the splitter for a language; None if it needs a library that is not installed."""
    try:
        return WordSplitter(language)
    except ConfigurationError:
        with contextlib.suppress(Exception):
            import_spacy().util.get_lang_class(language)
            return None
        raise
