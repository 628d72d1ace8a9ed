"""Cuts long texts into sentences by rule. Every tagger uses it, so that all cut alike."""

import bisect
import itertools
import re
from typing import Iterable, List, Optional, Sequence

#: The most tokens of a text that stays whole, unless a tagger is told otherwise.
MOST_TOKENS = 100

#: Text is not wrapped to lines of fewer characters.
_NARROWEST = 50
#: A full line that ends in one of them was the last of a paragraph or a sentence.
_MARKS = (".", "!", "?", ":", ";")
#: Where paragraphs meet.
BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
#: Marks that always end a sentence, whether or not a blank follows.
FULL_STOPS = "。！？｡．।॥།။።៕"
#: Such a mark, or another one in front of a blank, with the brackets and quotes that close behind it.
_END = re.compile(
    rf"[{FULL_STOPS}]+[\"'»”’)\]\uff09\u300d\u300f]*\s*|(?<![.!?…؟])[.!?…؟]+[\"'»”’)\]]*\s+"
)
#: A full stop behind so few letters more often ends an abbreviation.
_LONGEST_ABBREVIATION = 3


def sentence_lengths(
    text: str, starts: Sequence[int], most_tokens: Optional[int] = MOST_TOKENS
) -> List[int]:
    r"""Returns the number of tokens of each sentence of a text.

    A text of up to `most_tokens` tokens is one sentence. A longer one is cut at blank lines; a paragraph
    that is still too long, at the ends of its lines; and a line that is too long, behind marks that end
    sentences, as few as possible. Where there is no such place, a sentence has more tokens.

    The end of a line is no border if the next line begins with a small letter. If most lines are full,
    so that the next word would not have fitted, the text was wrapped. Then a full line ends in a border
    only behind a mark.

    Example:
        >>> text = "Name: Ada\nBorn: 1815\nShe wrote notes. They were long."
        >>> starts = [match.start() for match in re.finditer(r"\w+|\S", text)]
        >>> sentence_lengths(text, starts, 8), sentence_lengths(text, starts, 4)
        ([3, 3, 8], [3, 3, 4, 4])
    """
    if most_tokens is None or len(starts) <= most_tokens:
        return [len(starts)] if starts else []
    blank_lines = [match.end() for match in BLANK_LINES.finditer(text)]
    lines, marks = list(_after_lines(text)), list(_after_marks(text))
    lengths: List[int] = []
    for paragraph in _cut(range(len(starts)), starts, blank_lines, most_tokens):
        for line in _cut(paragraph, starts, lines, most_tokens):
            parts = _cut(line, starts, marks, most_tokens)
            lengths += _joined(map(len, parts), most_tokens)
    return lengths


def _cut(
    tokens: range, starts: Sequence[int], borders: Sequence[int], most_tokens: int
) -> List[range]:
    """Cuts too long a range of tokens at borders, which are offsets."""
    if len(tokens) <= most_tokens:
        return [tokens]
    begin, end = starts[tokens.start], starts[tokens.stop - 1]
    inner = borders[bisect.bisect_right(borders, begin) : bisect.bisect_right(borders, end)]
    places = sorted({bisect.bisect_left(starts, border) for border in inner} - {tokens.start})
    return [range(*each) for each in itertools.pairwise([tokens.start, *places, tokens.stop])]


def _joined(lengths: Iterable[int], most_tokens: int) -> List[int]:
    joined: List[int] = []
    for length in lengths:
        if joined and joined[-1] + length <= most_tokens:
            joined[-1] += length
        else:
            joined.append(length)
    return joined


def _after_lines(text: str) -> Iterable[int]:
    """Yields the starts of lines that were begun on purpose, not because the one before was full."""
    lines = text.splitlines(keepends=True)
    begins = itertools.accumulate(map(len, lines))
    # A line without its end, and the first word of the next one.
    pairs = [
        (line.rstrip(), next(iter(following.split(maxsplit=1)), ""))
        for line, following in itertools.pairwise(lines)
    ]
    width = max(len(line.rstrip()) for line in lines)
    are_full = [len(line) + 1 + len(word) > width for line, word in pairs if word]
    is_wrapped = width >= _NARROWEST and 2 * sum(are_full) > len(are_full)
    for begin, (line, word) in zip(begins, pairs):
        is_full = is_wrapped and len(line) + 1 + len(word) > width
        if word and not word[0].islower() and (not is_full or line.endswith(_MARKS)):
            yield begin


def _after_marks(text: str) -> Iterable[int]:
    for match in _END.finditer(text):
        before = text[max(0, match.start() - _LONGEST_ABBREVIATION - 1) : match.start()]
        letters = list(itertools.takewhile(str.isalpha, reversed(before)))
        is_abbreviation = match[0][0] == "." and 1 <= len(letters) <= _LONGEST_ABBREVIATION
        if not is_abbreviation and not text[match.end() : match.end() + 1].islower():
            yield match.end()
