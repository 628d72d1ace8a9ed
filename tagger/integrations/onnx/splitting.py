"""How texts become tokens, as JSON, so that a runtime needs neither AllenNLP nor spaCy."""

import re
from typing import Any, Dict, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import Tokenizer

from tagger.data.tokenizers import LanguageRulesTokenizer, SegmentTokenizer
from tagger_onnx.segments import PATTERNS


def describe_splitting(tokenizer: Tokenizer) -> Dict[str, Any]:
    """Returns what the `Splitter` of `tagger_onnx` takes."""
    if isinstance(tokenizer, SegmentTokenizer):
        return {"type": tokenizer.name, "pattern": PATTERNS[tokenizer.name]}
    if isinstance(tokenizer, LanguageRulesTokenizer):
        return {"type": "language_rules", **_rules(tokenizer.language)}
    raise ConfigurationError(
        f"texts are split by {tokenizer}, which cannot be exported; export with `--language xx`, and "
        "give lists of tokens instead of texts"
    )


def _rules(language: str) -> Dict[str, Any]:
    import spacy
    from spacy.attrs import ORTH
    from spacy.tokenizer import Tokenizer as RuleTokenizer

    try:
        tokenizer: Any = spacy.blank(language).tokenizer
    except ImportError as error:
        raise ConfigurationError(
            f"`language` is {language!r}, which spaCy does not offer here: {error}"
        ) from error
    exceptions = {
        text: [token[ORTH] for token in tokens]
        for text, tokens in (tokenizer.rules if type(tokenizer) is RuleTokenizer else {}).items()
        if not text.isspace()
    }
    has_blanks = any(any(map(str.isspace, text)) for text in exceptions)
    if type(tokenizer) is not RuleTokenizer or has_blanks:
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
