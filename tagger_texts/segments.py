"""What counts as a word, punctuation or a character in any script, for splitting and joining text.

The expressions follow Unicode's text segmentation (UAX 29) with one difference: an apostrophe or a full
stop inside a word is a separate token, because an entity may end there. They use only syntax that both
the package `regex` and JavaScript support, since exported files contain them.
"""

import re
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Sequence, Tuple

from tagger_texts.inputs import begin_of


class Token(NamedTuple):
    """A token, and the offset of its first character."""

    text: str
    start: int


# Characters that belong to the one before: combining marks, Thai and Lao AM, soft hyphens, joiners,
# skin colours of emoji, and tags of flags.
_MARK = "[\\p{M}\u0e33\u0eb3\u00ad\u200c\u200d\u2060\\p{Emoji_Modifier}\U000e0020-\U000e007f]"
# Scripts without blanks between words. Tibetan has a mark between syllables, and Thai uses blanks
# around words of other scripts.
_EAST_ASIAN = "\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Bopomofo}\\p{scx=Yi}"
_SOUTH_EAST_ASIAN = (
    "\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}\\p{scx=Tai_Le}\\p{scx=New_Tai_Lue}"
    "\\p{scx=Tai_Tham}\\p{scx=Tai_Viet}\\p{scx=Ahom}\\p{scx=Balinese}\\p{scx=Javanese}"
)
_UNSPACED = f"(?=[\\p{{L}}\\p{{Nl}}])[{_EAST_ASIAN}{_SOUTH_EAST_ASIAN}]"
# Signs that join the letters on both sides.
_STACKER = "\u1039\u17d2\u1a60\u1b44\ua9c0"
_VIRAMA = f"{_STACKER}\u094d\u09cd\u0a4d\u0acd\u0b4d\u0c4d\u0ccd\u0d4d\u0dca"
_FLAG = f"\\p{{Regional_Indicator}}{{2}}{_MARK}*"
_PICTOGRAPH = f"\\p{{Extended_Pictographic}}{_MARK}*"
_EMOJI = f"{_PICTOGRAPH}(?:(?<=\u200d){_PICTOGRAPH})*"
# White space, control characters and direction marks are in no token.
_OTHER = f"[^\\p{{White_Space}}\\p{{Cc}}\\p{{Cf}}]{_MARK}*"
_LETTER = f"(?!{_UNSPACED})[\\p{{L}}\\p{{N}}_]{_MARK}*"
_HEBREW_ABBREVIATION = "(?<=\\p{Script=Hebrew})[\"'](?=\\p{Script=Hebrew})|[\u05f3\u05f4]"
_PUNCTUATION = "[\\p{P}$+<=>^`|~]"

_BETWEEN_LETTERS = f"{_HEBREW_ABBREVIATION}|(?<=[lL])\u00b7(?=[lL])"
_OTHER_WORDS = (
    f"(?:(?=\\p{{L}})\\p{{scx=Katakana}}(?<!\\p{{Script=Hiragana}}){_MARK}*)+"
    f"|{_UNSPACED}{_MARK}*(?:(?<=[{_STACKER}]){_UNSPACED}{_MARK}*)*"
    f"|{_FLAG}|{_EMOJI}|{_OTHER}"
)
#: Words, and all other characters separately. In scripts without blanks between words, each character
#: is a word, except for runs of Katakana.
WORDS = f"(?:{_LETTER})(?:{_LETTER}|{_BETWEEN_LETTERS})*|{_OTHER_WORDS}"
#: The same, but letters and digits are in different words.
WORDS_AND_NUMBERS = (
    f"(?:(?!{_UNSPACED})\\p{{N}}{_MARK}*)+"
    f"|(?:(?!{_UNSPACED})\\p{{L}}{_MARK}*)(?:(?!{_UNSPACED})\\p{{L}}{_MARK}*|{_BETWEEN_LETTERS})*"
    f"|{_OTHER_WORDS}"
)
#: Characters as people perceive them, with their marks. A conjunct of Indic letters is one character.
CHARACTERS = (
    "[\u1100-\u115f\ua960-\ua97c]+[\u1160-\u11a7\ud7b0-\ud7c6]*[\u11a8-\u11ff\ud7cb-\ud7fb]*"
    f"{_MARK}*|{_FLAG}|{_EMOJI}"
    f"|\\p{{L}}{_MARK}*(?:(?<=[{_VIRAMA}]\u200d?)\\p{{L}}{_MARK}*)*|{_OTHER}"
)
#: Emoji with all their parts, or single pictographs.
EMOJI = f"{_FLAG}|{_EMOJI}"
#: Emoji of several code points: flags, families, keys, and those with a skin colour or a selector.
SEQUENCES = f"{_FLAG}|(?=.{_MARK}){_EMOJI}|[0-9#*]\ufe0f?\u20e3"
# What only such emoji contain, or other scripts.
_IN_EMOJI = re.compile(
    "[\u200d\ufe0e\ufe0f\u20e3\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e007f]"
)
#: Text between white space, split around each punctuation mark as in BERT.
PUNCTUATION = f"{_PUNCTUATION}{_MARK}*|(?:(?!{_PUNCTUATION})[^\\p{{White_Space}}\\x1c-\\x1f])+"
_INSIDE = (
    f"(?<=[^\\s]){_MARK}|(?<=[\\p{{L}}\\p{{N}}_]{_MARK}*)(?<!{_UNSPACED}{_MARK}*){_LETTER}"
    f"(?<!\\p{{L}}{_MARK}*\\p{{N}}{_MARK}*)(?<!\\p{{N}}{_MARK}*\\p{{L}}{_MARK}*)"
)
#: The ways to split texts that do not use rules of a language.
PATTERNS: Dict[str, str] = {
    "blanks": "[^\\p{White_Space}\\x1c-\\x1f]+",
    "punctuation": PUNCTUATION,
    "words": WORDS,
    "words_and_numbers": WORDS_AND_NUMBERS,
    "characters": CHARACTERS,
}


# The kinds of characters; the first match counts.
_KINDS = {
    "east": f"(?=[\\p{{L}}\\p{{Nl}}])[{_EAST_ASIAN}]",
    "mark": "[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]",
    "south-east": f"[{_SOUTH_EAST_ASIAN}\\p{{scx=Tibetan}}]",
    "hangul": "\\p{scx=Hangul}",
    "other": "[\\p{L}\\p{N}]",
    "sign": ".|\\n",
}
_UNSPACED_KINDS = ("east", "south-east")
#: This many single-character words or more are treated as characters rather than words.
_FEWEST_CHARACTERS = 4


def splitter_at(pattern: str) -> Callable[[str], List[Token]]:
    """Returns a function that takes each match of the pattern as a token.

    A byte order mark at the start of a text belongs to no token.

    Example:
        >>> [token.text for token in splitter_at(WORDS)("हिन्दी, ภาษาไทย, 1.5 mg")]
        ['हिन्दी', ',', 'ภ', 'า', 'ษ', 'า', 'ไ', 'ท', 'ย', ',', '1', '.', '5', 'mg']
        >>> [token.text for token in splitter_at(CHARACTERS)("हिन्दी")]
        ['हि', 'न्दी']
        >>> [token.text for token in splitter_at(PUNCTUATION)("don't go.")]
        ['don', "'", 't', 'go', '.']
    """
    expression = _compiled(pattern)
    return lambda text: [
        Token(match[0], match.start()) for match in expression.finditer(text, begin_of(text))
    ]


def split_around_emoji(text: str, split: Callable[[str], Iterable[Token]]) -> List[Token]:
    """Splits a text by `split`, but makes each emoji of several code points a token.

    A byte order mark at the start of a text belongs to no token.

    Example:
        >>> tokens = split_around_emoji("so\N{THUMBS UP SIGN}\ufe0f!", splitter_at("."))
        >>> [token.text for token in tokens] == ["s", "o", "\N{THUMBS UP SIGN}\ufe0f", "!"]
        True
    """
    begin = begin_of(text)
    tokens: List[Token] = []
    for emoji in _emoji(text):
        tokens += _moved(split(text[begin : emoji.start]), begin)
        tokens.append(emoji)
        begin = emoji.start + len(emoji.text)
    return [*tokens, *_moved(split(text[begin:]), begin)]


def _moved(tokens: Iterable[Token], offset: int) -> Iterable[Token]:
    return (Token(text, offset + start) for text, start in tokens)


def before_emoji(text: str, places: Iterable[int]) -> List[int]:
    """Returns places in a text in order, those inside an emoji moved to its start.

    Example:
        >>> before_emoji("a\N{THUMBS UP SIGN}\ufe0f!", [0, 2, 3])
        [0, 1, 3]
    """
    inside = {
        place: start
        for emoji, start in _emoji(text)
        for place in range(start + 1, start + len(emoji))
    }
    return sorted({inside.get(place, place) for place in places})


def has_emoji_sequence(text: str) -> bool:
    """Whether a text has an emoji of several code points.

    Example:
        >>> has_emoji_sequence("so\N{THUMBS UP SIGN}"), has_emoji_sequence("so\N{THUMBS UP SIGN}\ufe0f")
        (False, True)
    """
    return any(True for _ in _emoji(text))


def _emoji(text: str) -> Iterable[Token]:
    """Yields the emoji of several code points."""
    if _IN_EMOJI.search(text):
        for found in _compiled(SEQUENCES).finditer(text):
            yield Token(found[0], found.start())


def cuts_word(text: str, position: int) -> bool:
    """Whether a position is inside a word or number, or before a mark that belongs to a character.

    Example:
        >>> [cuts_word("हिन्दी", 1), cuts_word("Rome", 2), cuts_word("北京", 1), cuts_word("a b", 1)]
        [True, True, False, False]
        >>> cuts_word("5mg", 1)
        False
    """
    return _compiled(_INSIDE).match(text, position) is not None


def is_character(word: str) -> bool:
    """Whether a word is a single character with its marks."""
    return _compiled(CHARACTERS).fullmatch(word) is not None


def is_unspaced(word: str) -> bool:
    """Whether a word begins in a script without blanks between words."""
    return _kinds(word)[0] in _UNSPACED_KINDS


def num_words(text: str) -> int:
    """Returns about how many words a text has; where scripts have no blanks, two characters are one.

    Example:
        >>> num_words("Ada left Rome"), num_words("很快好吃"), num_words("2 ไทย")
        (3, 3, 3)
    """
    return len(text.split()) + sum(map(is_unspaced, text)) // 2


def blanks_before(words: Sequence[str]) -> List[bool]:
    """Returns which words have a blank before them, judging by their scripts; the first has none.

    Words in scripts without blanks follow each other directly. So do words in other scripts among
    Chinese or Japanese words, and words that are single characters of such a script or of Hangul.

    Example:
        >>> blanks_before(["他", "在", "Google", "工作"]), blanks_before(["see", "北京", "today"])
        ([False, False, False, False], [False, True, True])
    """
    if all(map(str.isascii, words)):
        return [place > 0 for place in range(len(words))]
    kinds = [_kinds(word) for word in words]
    is_east_asian = sum((first == "east") - (first == "other") for first, _ in kinds) >= 0
    is_by_characters = (
        len(words) >= _FEWEST_CHARACTERS
        and any(first not in ("other", "sign") for first, _ in kinds)
        and all(map(is_character, words))
    )

    def is_apart(left: str, right: str) -> bool:
        pair = {left, right}
        if is_by_characters or "mark" in pair or pair <= {*_UNSPACED_KINDS}:
            return False
        return "east" not in pair or "hangul" in pair or not is_east_asian

    return [
        place > 0 and is_apart(kinds[place - 1][1], kinds[place][0]) for place in range(len(words))
    ]


def join_words(words: Sequence[str]) -> Tuple[str, List[int]]:
    """Joins words with single blanks where their scripts use them; also returns where each word starts.

    Example:
        >>> join_words(["New", "York", "!"]), join_words(["北京", "！"])
        (('New York !', [0, 4, 9]), ('北京！', [0, 2]))
    """
    blanks = blanks_before(words)
    ends = accumulate(len(word) + has_blank for word, has_blank in zip(words, blanks))
    text = "".join(" " * has_blank + word for word, has_blank in zip(words, blanks))
    return text, [end - len(word) for word, end in zip(words, ends)]


@lru_cache(maxsize=100_000)
def _kinds(word: str) -> Tuple[str, str]:
    """Returns the kinds of a word's first and last characters, ignoring marks."""
    bare = [each for each in word if not _compiled(_MARK).match(each)] or ["-"]
    first, last = (
        next(name for name, pattern in _KINDS.items() if _compiled(pattern).match(each))
        for each in (bare[0], bare[-1])
    )
    return first, last


@cache
def _compiled(pattern: str) -> Any:
    # Imported lazily, since taggers that split by the rules of a language do not need it.
    import regex

    return regex.compile(pattern)
