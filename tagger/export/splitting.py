"""The rules by which spaCy splits texts into tokens, as JSON, so that a runtime needs no spaCy."""

import re
from typing import Any, Dict, Optional

from allennlp.common.checks import ConfigurationError


def describe_splitting(language: str) -> Dict[str, Any]:
    """Returns the rules of a language.

    Args:
        language: Its spaCy code. Nothing is downloaded.

    Raises:
        ConfigurationError: If there is no such language, or its tokens are not found by rules.
    """
    import spacy
    from spacy.attrs import ORTH
    from spacy.tokenizer import Tokenizer

    try:
        tokenizer: Any = spacy.blank(language).tokenizer
    except ImportError as error:
        raise ConfigurationError(
            f"`language` is {language!r}, which spaCy does not offer here: {error}"
        ) from error
    exceptions = {
        text: [token[ORTH] for token in tokens]
        for text, tokens in (tokenizer.rules if type(tokenizer) is Tokenizer else {}).items()
        if not text.isspace()
    }
    has_blanks = any(any(map(str.isspace, text)) for text in exceptions)
    if type(tokenizer) is not Tokenizer or has_blanks:
        raise ConfigurationError(
            f"`language` is {language!r}, whose texts are not split by rules for words alone, which "
            f"cannot be exported; export with `xx`, and give lists of tokens instead of texts"
        )
    return {
        "language": language,
        "prefix": _pattern(tokenizer.prefix_search),
        "suffix": _pattern(tokenizer.suffix_search),
        "infix": _pattern(tokenizer.infix_finditer),
        "token": _pattern(tokenizer.token_match),
        "url": _pattern(tokenizer.url_match),
        "exceptions": exceptions,
    }


def _pattern(method: Any) -> Optional[Dict[str, Any]]:
    """The pattern of a regular expression's bound method, None for none."""
    if method is None:
        return None
    expression: re.Pattern = method.__self__
    return {"pattern": expression.pattern, "ignore_case": bool(expression.flags & re.IGNORECASE)}
