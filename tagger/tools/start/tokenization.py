"""Finds out how a corpus was tokenized, by looking for a tokenizer that gives the same tokens."""

import re
from collections import Counter
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

import regex
from allennlp.data import Tokenizer

from tagger.common.console import Said
from tagger.common.word_splitter import splitter_at_hand
from tagger.data.doubts.measured import fitting_entities
from tagger.data.formats.annotated_text import PLAIN_TAGS, AnnotatedText
from tagger.data.joined_text import join_tokens
from tagger.data.tokenizers import (
    BlanksTokenizer,
    CharactersTokenizer,
    LanguageRulesTokenizer,
    PunctuationTokenizer,
    RegularExpressionTokenizer,
    SegmentTokenizer,
    WordsAndNumbersTokenizer,
    WordsTokenizer,
    words_of,
)
from tagger.tools.start.languages import guess_language, is_in_english, main_script
from tagger_texts.segments import EMOJI, is_character, is_unspaced

T = TypeVar("T")

#: A tokenizer that reproduces a smaller share of tokens, or fits a smaller share of entities, is bad.
LEAST_SHARE = 0.9
#: At least this share of tokens are single characters if a corpus is split into characters.
_SHARE_OF_CHARACTERS = 0.9
#: A mark counts as a token if at most this share of its occurrences are inside other tokens.
_SHARE_INSIDE = 0.05
#: How much better a regular expression must be than other tokenizers, since ONNX cannot export it, and
#: how many more entities shorter tokens must fit.
_LEAST_GAIN = 0.05
#: Texts in Latin letters are split into characters only if words fit a smaller share of entities.
_MOST_BY_CHARACTERS = 0.5
_ADVICE = (
    "texts are split differently from this file, so entities will be missed; run `allennlp convert --to "
    "doccano` and start with its output: split by {}, it fits {:.1%} of the entities"
)
_PICTOGRAPHS = r"\p{Extended_Pictographic}\p{RI}"
#: How many sentences are split to compare tokenizers.
_MOST_SENTENCES = 2_000


class Tokenization(NamedTuple):
    """A tokenizer that makes tokens like those of a corpus, and the language of the corpus.

    Attributes:
        shares: The share of each tokenizer, the chosen one first: the F1 of its tokens against those of
            the corpus, or the share of entities that begin and end where its tokens do.
        of: Which of the two it is: `tokens` or `entities`.
        num_entities: The number of entities that were tried.
        advice: What to do if no tokenizer gives the tokens of the corpus.
        in_english: That of `is_in_english`.
    """

    tokenizer: Tokenizer
    language: str
    shares: Dict[str, float]
    of: str
    has_blanks: bool
    num_entities: int = 0
    advice: Optional[str] = None
    in_english: Optional[bool] = None

    @property
    def config(self) -> Optional[Dict[str, str]]:
        """The tokenizer in a config; None for the rules of `language`."""
        found = self.tokenizer
        if isinstance(found, SegmentTokenizer):
            return {"type": found.name}
        if isinstance(found, RegularExpressionTokenizer):
            return {"type": "regular_expression", "pattern": found.pattern}
        if isinstance(found, LanguageRulesTokenizer) and found.language != self.language:
            return {"type": "language_rules", "language": found.language}
        return None

    def describe(self) -> List[Said]:
        """Describes the language, how well each tokenizer fits, and what to do if none does."""
        (best, share), *others = self.shares.items()
        if self.of == "tokens":
            fits = [f"splitting by {best} gives {share:.1%} of them"]
            fits += [f"by {name} {each:.1%}" for name, each in others]
        else:
            fits = [f"splitting by {best} fits {self._num(share)} of {self.num_entities:,}"]
            fits += [f"by {name} {self._num(each)}" for name, each in others]
        language = "unknown to spaCy" if self.language == "xx" else self.language
        if not self.has_blanks:
            language += ", without blanks between words, so tokens are joined without any"
        shown = None if language == "en" else language
        return [("language", shown), (self.of, "; ".join(fits)), ("warning", self.advice)]

    @property
    def remedy(self) -> str:
        """What helps if entities begin or end inside tokens, as tried on the corpus."""
        best = max(self.shares, key=lambda name: self.shares[name])
        if self.of == "tokens" or self.shares[best] <= next(iter(self.shares.values())):
            return "no tokenizer that was tried fits more"
        return (
            f"splitting by {best} fits {self._num(self.shares[best])} of {self.num_entities:,}; if that "
            "is worth shorter tokens, name it as the `tokenizer` of the config"
        )

    def _num(self, share: float) -> str:
        return f"{round(share * self.num_entities):,}"


def find_tokenization(texts: Sequence[AnnotatedText]) -> Tokenization:
    """Finds out how the tokens of a corpus were made, by splitting its texts again.

    The tokenizer that gives most of the tokens is chosen. For texts without tokens, or if its tokens
    do not fit the entities, it is the one that fits the most entities.
    """
    texts = spread(texts)
    has_tokens = all(text.tokens is not None for text in texts)
    sentences = [
        [text.text[slice(*span)] for span in text.tokens or []]
        if has_tokens
        else words_of(WordsTokenizer(), text.text)[0]
        for text in texts
    ]
    tokens = [token for sentence in sentences for token in sentence]
    language, candidates = _candidates(tokens)
    spans = [text for text in texts if not text.properties.get(PLAIN_TAGS)]
    by_tokens = _by_tokens(texts, sentences, candidates) if has_tokens else []
    of, ordered, advice = "tokens", by_tokens, None
    if not by_tokens or min(by_tokens[0][1], _fit(spans, by_tokens[0][0])) < LEAST_SHARE:
        by_entities = _by_entities(spans, candidates, main_script(tokens) == "Latin")
        best, most = by_entities[0]
        if not by_tokens or most >= _fit(spans, by_tokens[0][0]) + _LEAST_GAIN:
            of, ordered = "entities", by_entities
        if by_tokens and share_alike(texts, ordered[0][0]) < LEAST_SHARE:
            advice = _ADVICE.format(best, most)
    num_entities = sum(len(text.entities) for text in spans)
    shares = {str(tokenizer): share for tokenizer, share in ordered}
    counted = not _has_no_blanks(tokens), num_entities, advice, is_in_english(sentences)
    return Tokenization(ordered[0][0], language, shares, of, *counted)


def _by_tokens(
    texts: Sequence[AnnotatedText],
    sentences: Sequence[Sequence[str]],
    candidates: Sequence[Tokenizer],
) -> List[Tuple[Tokenizer, float]]:
    ordered = _by_share(candidates, lambda each: share_alike(texts, each))
    pattern = marks_expression(sentences)
    if pattern is not None:
        expression = RegularExpressionTokenizer(pattern)
        share = share_alike(texts, expression)
        if share >= ordered[0][1] + _LEAST_GAIN:
            ordered.insert(0, (expression, share))
    return ordered


def _by_entities(
    texts: Sequence[AnnotatedText], candidates: Sequence[Tokenizer], is_latin: bool
) -> List[Tuple[Tokenizer, float]]:
    """Orders tokenizers by the entities that they fit; those with shorter tokens must be worth it."""
    # Characters fit every entity, so words are preferred.
    wholes = [each for each in candidates if not isinstance(each, CharactersTokenizer)]
    ordered = _by_share(wholes, lambda each: _fit(texts, each))
    # Affixes are attached to names in some scripts, such as particles in Korean.
    characters = _MOST_BY_CHARACTERS if is_latin else LEAST_SHARE
    for shorter, most in ((WordsAndNumbersTokenizer(), 1.0), (CharactersTokenizer(), characters)):
        best = ordered[0][1]
        share = _fit(texts, shorter)
        if best < most and share >= best + _LEAST_GAIN:
            ordered.insert(0, (shorter, share))
        elif best < LEAST_SHARE:
            ordered.append((shorter, share))
    return ordered


def _by_share(
    candidates: Sequence[Tokenizer], share_of: Callable[[Tokenizer], float]
) -> List[Tuple[Tokenizer, float]]:
    """Returns tokenizers with their shares, best first; ties keep their order."""
    return sorted(((each, share_of(each)) for each in candidates), key=lambda item: -item[1])


def _candidates(tokens: Sequence[str]) -> Tuple[str, List[Tokenizer]]:
    """Returns the language of tokens, and the tokenizers that may have made them."""
    language = guess_language(tokens)
    # spaCy splits Chinese into characters but other languages into words.
    has_rules = language != "zh" and splitter_at_hand(language) is not None
    by_characters = sum(map(is_character, tokens)) >= _SHARE_OF_CHARACTERS * len(tokens)
    if _has_no_blanks(tokens):
        rules = [LanguageRulesTokenizer(language)] if has_rules else []
        return language, [CharactersTokenizer(), WordsTokenizer(), *rules]
    return language, [
        LanguageRulesTokenizer(language if has_rules else "xx"),
        BlanksTokenizer(),
        PunctuationTokenizer(),
        *([] if all(map(str.isascii, tokens)) else [WordsTokenizer()]),
        *([CharactersTokenizer()] if by_characters else []),
    ]


def _has_no_blanks(tokens: Sequence[str]) -> bool:
    """Whether most words are in scripts without blanks between words."""
    words = [token for token in tokens if any(map(str.isalnum, token))]
    return sum(map(is_unspaced, words)) > len(words) / 2


def _fit(texts: Iterable[AnnotatedText], tokenizer: Tokenizer) -> float:
    """Returns the share of entities that begin and end with tokens; 1 if there is none."""
    num_alike, num, _ = fitting_entities(texts, tokenizer)
    return num_alike / num if num else 1.0


def marks_expression(sentences: Iterable[Sequence[str]]) -> Optional[str]:
    r"""Returns a regular expression that splits at blanks and around marks that are always tokens.

    Returns None if every mark also occurs inside other tokens.

    Example:
        >>> marks_expression([["aspirin", "(", "81mg/d.", ")", ",", "p.o."]])
        '[^\\s(),]+|[(),]'
    """
    counts = Counter(token for sentence in sentences for token in sentence)
    inside: Counter[str] = Counter()
    for token, number in counts.items():
        if len(token) > 1:
            inside.update(dict.fromkeys(set(token), number))
    signs = {
        mark
        for mark, number in counts.items()
        if len(mark) == 1 and not mark.isalnum() and inside[mark] <= _SHARE_INSIDE * number
    }
    # Parts of an emoji stay together; if pictographs are tokens, all emoji are.
    has_pictographs = any(regex.match(rf"[{_PICTOGRAPHS}]", sign) for sign in signs)
    marks = "".join(
        re.sub(r"[]\\[^&~|-]", r"\\\g<0>", sign)
        for sign in sorted(signs)
        if not regex.match(rf"[{_PICTOGRAPHS}\p{{Emoji_Modifier}}\p{{M}}\p{{Cf}}]", sign)
    )
    keys = r"[\ufe0f\u20e3]*" if signs & {"#", "*"} else ""
    if has_pictographs:
        return rf"{EMOJI}|[^\s{marks}{_PICTOGRAPHS}]+|[{marks}\p{{RI}}]{keys}"
    return rf"[^\s{marks}]+|[{marks}]{keys}" if marks else None


def share_alike(texts: Iterable[AnnotatedText], tokenizer: Tokenizer) -> float:
    """Returns the F1 of a tokenizer's tokens of texts against those of a corpus, from 0 to 1."""
    num_alike = num_tokens = 0
    for each in texts:
        text, spans = each.text, each.tokens or []
        tokens = [text[slice(*span)] for span in spans]
        if text == " ".join(tokens):
            text, spans = join_tokens(tokens)
        words, starts = words_of(tokenizer, text)
        found = {(start, start + len(word)) for word, start in zip(words, starts)}
        num_alike += len(found.intersection(spans))
        num_tokens += len(found) + len(spans)
    return 2 * num_alike / max(num_tokens, 1)


def spread(sentences: Sequence[T]) -> Sequence[T]:
    """Returns sentences or texts from all over a corpus."""
    return sentences[:: len(sentences) // _MOST_SENTENCES + 1]
