"""Cuts long texts into sentences by rules, which all taggers share."""

import bisect
import itertools
import re
from typing import Iterable, List, Optional, Sequence

#: The default limit on the number of tokens in a text that is not cut.
MOST_TOKENS = 100

#: The narrowest line width at which text counts as wrapped.
_NARROWEST = 50
#: A full line that ends in one of these is the last of a paragraph or a sentence.
_MARKS = (".", "!", "?", ":", ";")
#: Separates paragraphs.
BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
#: Marks that always end a sentence, even without a blank after them.
FULL_STOPS = "。！？｡．।॥།။።៕"
#: One of these, or another mark before a blank, plus any closing brackets and quotes.
_END = re.compile(
    rf"[{FULL_STOPS}]+[\"'»”’)\]\uff09\u300d\u300f]*\s*|(?<![.!?…؟])[.!?…؟]+[\"'»”’)\]]*\s+"
)
#: After so few letters, a full stop usually ends an abbreviation.
_LONGEST_ABBREVIATION = 3


def sentence_lengths(
    text: str, starts: Sequence[int], most_tokens: Optional[int] = MOST_TOKENS
) -> List[int]:
    r"""Returns the number of tokens of each sentence of a text.

    A text of up to `most_tokens` tokens is one sentence. A longer one is cut at blank lines. Paragraphs
    that are still too long are cut at line ends, and lines that are too long after marks that end
    sentences, with as few cuts as possible. A stretch without such a place stays whole and has more
    tokens.

    A line end is not a border if the next line begins with a lower-case letter. If most lines are full,
    so that the next word would not have fitted, the text is considered wrapped. Then a full line only
    ends in a border if it ends in a mark.

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
    """Cuts a range of tokens that is too long at borders, given as offsets."""
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
    """Yields the starts of lines that do not begin only because the previous one was full."""
    lines = text.splitlines(keepends=True)
    begins = itertools.accumulate(map(len, lines))
    # A line without its line end, and the first word of the next line.
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
