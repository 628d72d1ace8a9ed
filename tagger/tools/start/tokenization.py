"""Finds out how a corpus was tokenized, by looking for a tokenizer that gives the same tokens."""

import re
from collections import Counter
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

import regex
from allennlp.data import Tokenizer

from tagger.common.word_splitter import splitter_at_hand
from tagger.data.doubts.contents import without_blanks
from tagger.data.formats import AnnotatedText
from tagger.data.joined_text import join_tokens
from tagger.data.tokenizers import (
    BlanksTokenizer,
    CharactersTokenizer,
    LanguageRulesTokenizer,
    PunctuationTokenizer,
    RegularExpressionTokenizer,
    SegmentTokenizer,
    WordsTokenizer,
    words_of,
)
from tagger.tools.start.languages import guess_language, main_script
from tagger_texts.segments import EMOJI, is_character, is_unspaced

T = TypeVar("T")

#: A tokenizer that reproduces a smaller share of tokens, or of entity borders, fits badly.
LEAST_SHARE = 0.9
#: At least this share of tokens are single characters if a corpus is split into characters.
_SHARE_OF_CHARACTERS = 0.9
#: A mark counts as a token if at most this share of its occurrences are inside other tokens.
_SHARE_INSIDE = 0.05
#: How much better a regular expression must be than other tokenizers, since ONNX cannot export it.
_LEAST_GAIN = 0.05
_PICTOGRAPHS = r"\p{Extended_Pictographic}\p{RI}"
#: How many sentences are split to compare tokenizers.
_MOST_SENTENCES = 2_000


class Tokenization(NamedTuple):
    """A tokenizer that makes tokens like those of a corpus, and the language of the corpus.

    `shares` has the F1 of each tokenizer's tokens against those of the corpus, best first. For texts
    without tokens, it is the share of entity borders. `of` says which of the two it is.
    """

    tokenizer: Tokenizer
    language: str
    shares: Dict[str, float]
    of: str
    has_blanks: bool

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

    def describe(self) -> List[str]:
        """Describes the language, how well each tokenizer fits, and what to do if none does."""
        (best, share), *others = self.shares.items()
        fits = [f"splitting by {best} gives {share:.1%} of them"]
        fits += [f"by {name} {share:.1%}" for name, share in others]
        lines = [f"  {'borders' if self.of != 'tokens' else 'tokens':11}{'; '.join(fits)}"]
        language = "unknown to spaCy" if self.language == "xx" else self.language
        if not self.has_blanks:
            language += ", without blanks between words, so tokens are joined without any"
        if language != "en":
            lines.insert(0, f"  language   {language}")
        if share < LEAST_SHARE:
            lines.append(
                "  warning    texts are split differently from this file, so entities will be missed; "
                "run `allennlp convert --to doccano` and start with its output, which is split to fit "
                "the entities"
            )
        return lines


def find_tokenization(sentences: Sequence[Sequence[str]]) -> Tokenization:
    """Finds out how the tokens of a corpus, given sentence by sentence, were made.

    The tokens are joined into text, and each candidate splits this text again.
    """
    sentences = _spread(sentences)
    tokens = [token for sentence in sentences for token in sentence]
    language, candidates = _candidates(tokens)
    ordered = _by_share(candidates, lambda each: share_alike(sentences, each))
    pattern = marks_expression(sentences)
    if pattern is not None:
        expression = RegularExpressionTokenizer(pattern)
        share = share_alike(sentences, expression)
        if share >= ordered[0][1] + _LEAST_GAIN:
            ordered.insert(0, (expression, share))
    return _tokenization(ordered, language, tokens, "tokens")


def find_tokenization_of_texts(texts: Sequence[AnnotatedText]) -> Tokenization:
    """Finds the tokenizer that fits the most borders of entities in texts without tokens."""
    texts = _spread(texts)
    tokens = [word for text in texts for word in words_of(WordsTokenizer(), text.text)[0]]
    language, candidates = _candidates(tokens)
    # Characters fit every border, so words are preferred.
    candidates.sort(key=lambda each: isinstance(each, CharactersTokenizer))
    ordered = _by_share(candidates, lambda each: _share_of_borders(texts, each))
    if ordered[0][1] < LEAST_SHARE and main_script(tokens) != "Latin":
        # Affixes are attached to names there, such as particles in Korean.
        characters = CharactersTokenizer()
        ordered.append((characters, _share_of_borders(texts, characters)))
        ordered.sort(key=lambda item: -item[1])
    return _tokenization(ordered, language, tokens, "borders of entities")


def _by_share(
    candidates: Sequence[Tokenizer], share_of: Callable[[Tokenizer], float]
) -> List[Tuple[Tokenizer, float]]:
    """Returns tokenizers with their shares, best first; ties keep their order."""
    return sorted(((each, share_of(each)) for each in candidates), key=lambda item: -item[1])


def _tokenization(
    ordered: Sequence[Tuple[Tokenizer, float]], language: str, tokens: Sequence[str], of: str
) -> Tokenization:
    shares = {str(tokenizer): share for tokenizer, share in ordered}
    return Tokenization(ordered[0][0], language, shares, of, not _has_no_blanks(tokens))


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


def _share_of_borders(texts: Iterable[AnnotatedText], tokenizer: Tokenizer) -> float:
    num_alike = num_borders = 0
    for text in texts:
        words, starts = words_of(tokenizer, text.text)
        ends = {start + len(word) for word, start in zip(words, starts)}
        for each in text.entities:
            start, end = without_blanks(text.text, each)
            num_alike += (start in starts) + (end in ends)
            num_borders += 2
    return num_alike / num_borders if num_borders else 1.0


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


def share_alike(sentences: Iterable[Sequence[str]], tokenizer: Tokenizer) -> float:
    """Returns the F1 of a tokenizer's tokens of the joined text against those of a corpus, from 0 to 1.

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


def _spread(sentences: Sequence[T]) -> Sequence[T]:
    """Returns sentences or texts from all over a corpus."""
    return sentences[:: len(sentences) // _MOST_SENTENCES + 1]
