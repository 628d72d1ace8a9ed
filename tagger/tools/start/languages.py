"""Guesses the language of texts from their script and frequent words."""

import importlib
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import Dict, FrozenSet, Iterable, Optional, Sequence, Tuple

import regex

#: The languages of each script as spaCy codes. The first one is used if frequent words do not decide.
#: Scripts that are missing here have no language in spaCy.
_LANGUAGES: Dict[str, Tuple[str, ...]] = {
    "Latin": (
        *("en", "ca", "cs", "da", "de", "es", "et", "fi", "fr", "hr", "hu", "id", "it", "lt", "lv"),
        *("nb", "nl", "pl", "pt", "ro", "sv", "tr", "vi"),
    ),
    "Cyrillic": ("ru", "uk", "bg", "mk", "sr", "ky", "tt"),
    "Arabic": ("ar", "fa", "ur"),
    "Devanagari": ("hi", "mr", "ne", "sa"),
    "Ethiopic": ("am", "ti"),
    "Han": ("zh",),
    "Kana": ("ja",),
    "Hangul": ("ko",),
    "Thai": ("th",),
    "Greek": ("el",),
    "Hebrew": ("he",),
    "Armenian": ("hy",),
    "Bengali": ("bn",),
    "Gujarati": ("gu",),
    "Tamil": ("ta",),
    "Telugu": ("te",),
    "Kannada": ("kn",),
    "Malayalam": ("ml",),
    "Sinhala": ("si",),
    "Tibetan": ("bo",),
    "Other": ("xx",),
}
_SCRIPTS = regex.compile(
    "|".join(
        f"(?P<{name}>\\p{{Script={name}}})" for name in _LANGUAGES if name not in ("Kana", "Other")
    )
    + "|(?P<Kana>[\\p{Hiragana}\\p{Katakana}])|(?P<Other>\\p{L})"
)
#: Text with Chinese characters is Japanese if more than this share of their words are in Kana.
_SHARE_OF_KANA = 0.05
#: At least this many different frequent words are needed to recognise a language.
_FEWEST_WORDS = 3
#: At least this share of all words must be frequent words of the language.
_SHARE_OF_LANGUAGE = 0.2
#: A corpus is in English if at most this share of its sentences are clearly in other languages.
_SHARE_OF_OTHERS = 0.1


def guess_language(tokens: Iterable[str]) -> str:
    """Guesses a language from the script of most tokens, and from frequent words.

    Returns:
        A spaCy code; English for texts in Latin letters without enough frequent words of any language,
        `xx` for scripts that have no language in spaCy.

    Example:
        >>> guess_language("la maison est dans le village et elle est petite".split())
        'fr'
        >>> [guess_language(text) for text in ("我在北京", "東京に行く", "ပြည်")]
        ['zh', 'ja', 'xx']
    """
    tokens = list(tokens)
    return _clear_language(tokens) or _LANGUAGES[main_script(tokens)][0]


def is_in_english(sentences: Iterable[Sequence[str]]) -> Optional[bool]:
    """Whether sentences are in English, with hardly any of them in other languages.

    Returns:
        None if too few frequent words tell, as in a list of addresses.

    Example:
        >>> english, german = "he was in the house".split(), "er war mit ihr in dem Haus".split()
        >>> [is_in_english(each) for each in ([english], [english, german], [["Elm", "St"]])]
        [True, False, None]
    """
    sentences = list(sentences)
    # Short sentences may only be clear together.
    whole = _clear_language([token for each in sentences for token in each])
    clear = [language for each in sentences if (language := _clear_language(each))]
    if whole is None and not clear:
        return None
    num_others = sum(language != "en" for language in clear)
    return whole in (None, "en") and num_others <= _SHARE_OF_OTHERS * len(clear)


def _clear_language(tokens: Sequence[str]) -> Optional[str]:
    """Returns the language that the script or frequent words tell; None if they do not."""
    if not any(map(_script_of, tokens)):
        return None
    languages = _LANGUAGES[main_script(tokens)]
    if len(languages) == 1:
        return languages[0]
    found = _by_frequent_words(tokens, languages)
    # Other scripts than the Latin one are not English in any case.
    return found or (languages[0] if languages[0] != "en" else None)


def main_script(tokens: Iterable[str]) -> str:
    """Returns the script of most tokens, such as `Latin`, or `Kana` for Japanese; `Other` if unknown."""
    counts = Counter(filter(None, map(_script_of, tokens)))
    if counts["Kana"] > _SHARE_OF_KANA * counts["Han"]:
        counts["Kana"] += counts.pop("Han", 0)
    return max(counts, key=counts.__getitem__) if any(counts.values()) else "Latin"


def _by_frequent_words(tokens: Iterable[str], languages: Tuple[str, ...]) -> Optional[str]:
    words = [unicodedata.normalize("NFC", token.lower()) for token in tokens if _script_of(token)]
    shares = {
        language: sum(word in _frequent_words(language) for word in words) / max(len(words), 1)
        for language in languages
    }
    best = max(shares, key=shares.__getitem__)
    num_distinct = len(_frequent_words(best).intersection(words))
    is_clear = shares[best] >= _SHARE_OF_LANGUAGE and num_distinct >= _FEWEST_WORDS
    return best if is_clear else None


@lru_cache(maxsize=100_000)
def _script_of(token: str) -> Optional[str]:
    found = _SCRIPTS.search(token)
    return found and found.lastgroup


@cache
def _frequent_words(language: str) -> FrozenSet[str]:
    return frozenset(importlib.import_module(f"spacy.lang.{language}.stop_words").STOP_WORDS)
