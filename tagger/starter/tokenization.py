"""How the tokens of a corpus were made: which tokenizer splits its text into the same tokens."""

import importlib
import re
from collections import Counter
from functools import cache
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

from allennlp.data import Tokenizer

from tagger.data.formats import AnnotatedText
from tagger.data.joined_text import join_tokens
from tagger.data.tokenizers import (
    BlanksTokenizer,
    LanguageRulesTokenizer,
    PunctuationTokenizer,
    RegularExpressionTokenizer,
    words_of,
)

T = TypeVar("T")

#: Languages that are recognised by their frequent words, by their spaCy codes.
_LANGUAGES: Tuple[str, ...] = (
    "bg",
    "ca",
    "cs",
    "da",
    "de",
    "el",
    "en",
    "es",
    "et",
    "fi",
    "fr",
    "hr",
    "hu",
    "id",
)
_LANGUAGES += ("it", "lt", "lv", "nb", "nl", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "vi")
#: At least so many different frequent words tell a language.
_FEWEST_WORDS = 3
#: At least this share of all words are frequent words of the language.
_SHARE_OF_LANGUAGE = 0.2
#: The share of its occurrences in which a mark that is otherwise a token may stand inside a token.
_SHARE_INSIDE = 0.05
#: How much better a regular expression must be, since it cannot be exported to ONNX.
_LEAST_GAIN = 0.05
#: How many sentences are split.
_MOST_SENTENCES = 2_000


class Tokenization(NamedTuple):
    """A tokenizer that makes tokens like those of a corpus.

    Attributes:
        tokenizer: As in a config; None for the rules of `language`.
        language: The spaCy code of the texts' language.
        shares: For each tokenizer, the F1 of its tokens against those of the corpus; the best
            first.
        of: What the shares are of: tokens, or of texts without tokens the borders of entities.
    """

    tokenizer: Any
    language: str
    shares: Dict[str, float]
    of: str = "tokens"

    def describe(self) -> str:
        """Says how well each tokenizer fits, the best first."""
        (best, share), *others = self.shares.items()
        said = [f"splitting by {best} gives {share:.1%} of them"]
        return "; ".join(said + [f"by {name} {share:.1%}" for name, share in others])


def find_tokenization(sentences: Sequence[Sequence[str]]) -> Tokenization:
    """Finds out how the tokens of a corpus were made.

    The tokens are joined into text, and each candidate splits this text again.

    Args:
        sentences: The tokens of each sentence.
    """
    sentences = _spread(sentences)
    language = guess_language(token for sentence in sentences for token in sentence)
    candidates: List[Tokenizer] = [
        LanguageRulesTokenizer(language),
        BlanksTokenizer(),
        PunctuationTokenizer(),
    ]
    shares = {str(each): share_alike(sentences, each) for each in candidates}
    # `sorted` is stable, so the first of equals wins.
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    configs = {str(candidates[1]): {"type": "blanks"}, str(candidates[2]): {"type": "punctuation"}}
    pattern = marks_expression(sentences)
    if pattern is not None:
        expression = RegularExpressionTokenizer(pattern)
        share = share_alike(sentences, expression)
        if share >= ordered[0][1] + _LEAST_GAIN:
            ordered.insert(0, (str(expression), share))
            configs[str(expression)] = {"type": "regular_expression", "pattern": pattern}
    return Tokenization(configs.get(ordered[0][0]), language, dict(ordered))


def find_tokenization_of_texts(texts: Sequence[AnnotatedText]) -> Tokenization:
    """Finds the tokenizer whose tokens fit the borders of the most entities.

    Args:
        texts: Texts without tokens.
    """
    texts = _spread(texts)
    language = guess_language(word for text in texts for word in re.findall(r"\w+", text.text))
    candidates: List[Tokenizer] = [
        LanguageRulesTokenizer(language),
        BlanksTokenizer(),
        PunctuationTokenizer(),
    ]
    shares = {str(each): _share_of_borders(texts, each) for each in candidates}
    ordered = dict(sorted(shares.items(), key=lambda item: -item[1]))
    configs = {str(candidates[1]): {"type": "blanks"}, str(candidates[2]): {"type": "punctuation"}}
    return Tokenization(configs.get(next(iter(ordered))), language, ordered, "borders of entities")


def _share_of_borders(texts: Iterable[AnnotatedText], tokenizer: Tokenizer) -> float:
    num_alike = num_borders = 0
    for text in texts:
        words, starts = words_of(tokenizer, text.text)
        ends = {start + len(word) for word, start in zip(words, starts)}
        for _, start, end in text.entities:
            num_alike += (start in starts) + (end in ends)
            num_borders += 2
    return num_alike / num_borders if num_borders else 1.0


def marks_expression(sentences: Iterable[Sequence[str]]) -> Optional[str]:
    r"""Returns a regular expression that splits at blanks, and around marks that always are tokens.

    Returns:
        The expression; None if each mark stands in other tokens too.

    Example:
        >>> marks_expression([["aspirin", "(", "81mg/d.", ")", ",", "p.o."]])
        '[^\\s(),]+|[(),]'
    """
    counts = Counter(token for sentence in sentences for token in sentence)
    alone = {token: number for token, number in counts.items() if len(token) == 1}
    inside: Counter[str] = Counter()
    for token, number in counts.items():
        if len(token) > 1:
            inside.update(dict.fromkeys(set(token), number))
    marks = "".join(
        re.sub(r"[]\\[^&~|-]", r"\\\g<0>", mark)
        for mark, number in sorted(alone.items())
        if not mark.isalnum() and inside[mark] <= _SHARE_INSIDE * number
    )
    return rf"[^\s{marks}]+|[{marks}]" if marks else None


def share_alike(sentences: Iterable[Sequence[str]], tokenizer: Tokenizer) -> float:
    """Returns the F1 of a tokenizer's tokens against those of a corpus, from 0 to 1.

    Args:
        sentences: The corpus' tokens of each sentence.
        tokenizer: Splits the text that they join to.

    Example:
        >>> share_alike([["Chicago", ",", "IL"]], BlanksTokenizer())
        0.4
    """
    num_alike = num_tokens = 0
    for sentence in sentences:
        text, spans = join_tokens(sentence)
        words, starts = words_of(tokenizer, text)
        found = {(start, start + len(word)) for word, start in zip(words, starts)}
        num_alike += len(found.intersection(spans))
        num_tokens += len(found) + len(spans)
    return 2 * num_alike / max(num_tokens, 1)


def guess_language(tokens: Iterable[str]) -> str:
    """Guesses a language from its frequent words; English if no language has enough of them.

    Returns:
        A spaCy code.

    Example:
        >>> guess_language("la maison est dans le village et elle est petite".split())
        'fr'
    """
    words = [token.lower() for token in tokens if token[:1].isalpha()]
    shares = {
        language: sum(word in frequent for word in words) / max(len(words), 1)
        for language, frequent in _frequent_words().items()
    }
    best = max(shares, key=shares.__getitem__)
    num_distinct = len(_frequent_words()[best].intersection(words))
    is_clear = shares[best] >= _SHARE_OF_LANGUAGE and num_distinct >= _FEWEST_WORDS
    return best if is_clear else "en"


@cache
def _frequent_words() -> Dict[str, frozenset]:
    return {
        language: frozenset(importlib.import_module(f"spacy.lang.{language}.stop_words").STOP_WORDS)
        for language in _LANGUAGES
    }


def _spread(sentences: Sequence[T]) -> Sequence[T]:
    """Returns sentences, or texts, from all over a corpus."""
    return sentences[:: len(sentences) // _MOST_SENTENCES + 1]
