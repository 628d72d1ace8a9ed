"""Splits texts into words by the rules of a language."""

from typing import Any, List, Optional, Tuple

from tagger.common.from_allennlp import ConfigurationError
from tagger_onnx.inputs import RUN_CHARACTERS, begin_of


class WordSplitter:
    """Splits texts into words by the rules of a language, which are part of spaCy.

    Nothing is downloaded. White space is no word, and neither is a byte order mark in front.

    Args:
        language: The spaCy code of the language.
        run_characters: The most characters without white space between them that a text should have;
            None for any number.

    Attributes:
        pipeline: spaCy's pipeline, which has nothing but the rules.
        run_characters: As above; None for languages whose texts are not split by such rules, as Chinese.

    Raises:
        ConfigurationError: If spaCy has no such language, or lacks a library that it needs for it.
    """

    def __init__(self, language: str, run_characters: Optional[int] = RUN_CHARACTERS) -> None:
        # Training needs none, and it takes a second.
        import spacy
        from spacy.tokenizer import Tokenizer

        try:
            self.pipeline: Any = spacy.blank(language)
        except Exception as error:  # A name such as `examples` finds a module of another kind.
            reason = " ".join(str(error).split())
            raise ConfigurationError(
                f"`language` must be the code of a language of spaCy, such as `en` or `de`; got "
                f"{language!r:.100}: {reason:.300}"
            ) from error
        has_rules = isinstance(self.pipeline.tokenizer, Tokenizer)
        self.run_characters = run_characters if has_rules else None

    def __call__(self, text: str) -> Tuple[List[str], List[int]]:
        """Returns the words of a text, and the character offset at which each starts."""
        begin = begin_of(text)
        words = [token for token in self.pipeline.tokenizer(text[begin:]) if not token.is_space]
        return [word.text for word in words], [begin + word.idx for word in words]
