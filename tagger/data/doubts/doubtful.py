"""Doubts: what may be right, but rarely is. Each returns what it saw and what to do, or None."""

import re
from collections import Counter
from itertools import pairwise
from operator import itemgetter
from typing import Dict, List, Optional, Sequence, Tuple

from tagger.data.doubts.contents import (
    FEWEST,
    MARK_UP,
    MOST,
    MOST_TEXTS,
    PATH,
    RULE,
    Contents,
    joins,
    quoted,
)
from tagger.data.formats.annotated_text import AnnotatedText, Annotation
from tagger_texts.segments import cuts_word, is_unspaced

#: The shares from which on something is the rule, frequent, or no accident.
_MOSTLY, _OFTEN, _SOME = 0.8, 0.2, 0.02
_IDENTIFIER = re.compile(r"(?=.*\d)(?=.*[^\d.,:%$€£])[\w.:/#@-]{4,}|[0-9a-f]{8,}|\d{5,}")
#: The places after a sign that a token may begin with, such as after `en:`, `w[0]=` and `▁`.
_AFTER_SIGN = re.compile(r"(?<=[^\w\s]|_)(?=\S)")
#: The encodings that UTF-8 is most often misread in.
_MISREAD_AS = ("cp1252", "cp1251", "mac_roman", "cp850")
#: Signs that Windows-1252 has beyond ASCII, of which words rarely have a larger share than this, and
#: control characters that no text has.
_ODD = re.compile("[\x80-\xff\u0152-\u0192\u02c6\u02dc\u2013-\u2122]")
_CONTROL, _MOST_ODD = re.compile("[\x80-\x84\x86-\x9f]"), 2 / 3
_NUMBERED = re.compile(r"[^\d\s]\d")
_PATH_LABEL = re.compile(r"ur[li]|path|file|link|web|site|dir|address|user|ip|mail|domain", re.I)
_END = re.compile(r"[.!?:;…。！？।॥؟]\W*$")
#: Sentences rarely have more tokens than this.
_LONG = 1_000
#: So many sentences must end properly for the last one to look cut off.
_MANY = 4 * FEWEST


def identifiers(contents: Contents) -> Optional[str]:
    """The first or the last token of nearly every sentence looks like an identifier."""
    several = [(text, words) for text, words in contents.worded() if len(words) > 1]
    for name, at in (("first", 0), ("last", -1)):
        ends = [words[at] for _, words in several]
        if sum(_is_in_entity(text, words[at], at) for text, words in several) > MOST * len(several):
            continue
        found = [each for each in ends if _IDENTIFIER.fullmatch(each)] or _counted(ends)
        if len(ends) >= FEWEST and len(set(found)) >= RULE * len(ends):
            return (
                f"the {name} token of {len(found):,} of {len(ends):,} sentences looks like an "
                f"identifier, such as {quoted(found[0])}; if it is none of the words, remove it, or "
                "put it into a separate column or key"
            )
    return None


def _is_in_entity(text: AnnotatedText, word: str, at: int) -> bool:
    """Whether the first or last word of a text is in an entity, wholly or in part."""
    start = len(text.text) - len(text.text.lstrip()) if at == 0 else text.text.rfind(word)
    return any(each.start < start + len(word) and start < each.end for each in text.entities)


def _counted(ends: Sequence[str]) -> List[str]:
    """Returns the tokens if they count the sentences."""
    if not all(map(str.isdecimal, ends)):
        return []
    numbers = [*map(int, ends)]
    return [*ends] if all(b - a == 1 for a, b in pairwise(numbers)) else []


def long_sentences(contents: Contents) -> Optional[str]:
    """Most sentences of tokens are as long as documents."""
    lengths = [length for text in contents.texts for length in text.sentence_lengths or ()]
    long = [length for length in lengths if length > _LONG]
    if len(long) <= MOST * len(lengths):
        return None
    return (
        f"{len(long):,} of {len(lengths):,} sentences have more than {_LONG:,} tokens, the longest "
        f"{max(long):,}; a model sees one sentence at a time, so put a blank line after each"
    )


def single_tokens(contents: Contents) -> Optional[str]:
    """Most sentences have one token."""
    # A text without blanks has more tokens than that.
    single = [
        words
        for text, words in contents.worded()
        if len(words) == 1 and (text.tokens is not None or not is_unspaced(words[0]))
    ]
    if len(single) < 2 * FEWEST or len(single) <= MOST * len(contents.words):
        return None
    return (
        f"{len(single):,} of {len(contents.words):,} sentences have one token, such as "
        f"{quoted(single[0][0])}; put a blank line only after each sentence"
    )


def same_words(contents: Contents) -> Optional[str]:
    """Most sentences are the same few, or many occur again with other entities."""
    found: Dict[str, set[Tuple[Annotation, ...]]] = {}
    for text in contents.texts:
        found.setdefault(text.text, set()).add(tuple(text.entities))
    again = [text for text, own in found.items() if len(own) > 1]
    if len(again) >= max(FEWEST, _OFTEN * len(found)):
        return (
            f"{len(again):,} of {len(found):,} sentences occur again with other entities, such as "
            f"{quoted(again[0])}; write each once with all of its entities, or keep one annotator's"
        )
    counts = Counter(map(tuple, contents.words)).most_common(3)
    number = sum(count for _, count in counts if count > 1)
    if len(contents.words) < 4 * FEWEST or number <= MOST * len(contents.words):
        return None
    return (
        f"{number:,} of {len(contents.words):,} sentences are the same few, such as "
        f"{quoted(' '.join(counts[0][0]))}; check that this is the right file, and remove copies"
    )


def mark_up(contents: Contents) -> Optional[str]:
    """Sentences or entities hold mark-up, or all tokens begin or end alike, as in `en:Rome`."""
    # Without blanks, a sentence is one word.
    words = [
        word
        for text, own in contents.worded()
        for word in own
        if text.tokens is not None or not is_unspaced(word)
    ]
    starts = Counter(word[: each.start()] for word in words for each in _AFTER_SIGN.finditer(word))
    shared = [start for start, n in starts.items() if n >= max(FEWEST, RULE * len(words))]
    if shared:
        start = max(shared, key=len)
        return f"{starts[start]:,} of {len(words):,} tokens begin with {quoted(start)}; remove it"
    end, num_ends = max(
        Counter(word[-1] for word in words).items(), key=itemgetter(1), default=("", 0)
    )
    if not end.isalnum() and num_ends >= max(FEWEST, RULE * len(words)):
        return f"{num_ends:,} of {len(words):,} tokens end with {quoted(end)}; remove it"
    numbered = [word for word in words if _NUMBERED.fullmatch(word)]
    if len(numbered) >= max(FEWEST, RULE * len(words)):
        return (
            f"{len(numbered):,} of {len(words):,} tokens are a letter and a digit, such as "
            f"{quoted(numbered[0])}; if the digit counts letters, remove it"
        )
    texts = [text.text for text in contents.texts if MARK_UP.search(text.text)]
    num_marks = sum(len(MARK_UP.findall(text)) for text in texts)
    if num_marks >= FEWEST and len(texts) >= _OFTEN * len(contents.texts):
        found = MARK_UP.search(texts[0])
        assert found is not None
        return (
            f"{len(texts):,} of {len(contents.texts):,} sentences hold mark-up, such as "
            f"{quoted(found[0])} in {quoted(texts[0])}; if it marks entities, write them as "
            '`{"text": ..., "label": [[0, 3, "PER"]]}`, without it'
        )
    entities = _in_entities(contents, MARK_UP)
    return f"{entities} hold mark-up; correct the offsets, or remove it" if entities else None


def paths_in_entities(contents: Contents) -> Optional[str]:
    """Entities begin with paths or URLs, though their labels do not say so."""
    found = _in_entities(contents, re.compile(rf"\A({PATH.pattern})"))
    return (
        f"{found} are paths or URLs; check that the text is there and not its place"
        if found
        else None
    )


def _in_entities(contents: Contents, pattern: "re.Pattern[str]") -> str:
    every = [(each.label, text[each.start : each.end]) for text, each in contents.entities]
    found = [
        words for label, words in every if pattern.search(words) and not _PATH_LABEL.search(label)
    ]
    if len(found) < 2 or len(found) < _SOME * len(every):
        return ""
    return f"{len(found):,} of {len(every):,} entities, such as {quoted(found[0])},"


def inside_words(contents: Contents) -> Optional[str]:
    """Entities begin or end inside words."""
    cut = [
        (text, each)
        for text, each in contents.spaced
        if any(joins(text, at) and cuts_word(text, at) for at in (each.start, each.end))
    ]
    if len(cut) < FEWEST or len(cut) < _OFTEN * len(contents.spaced):
        return None
    text, each = cut[0]
    around = text[max(each.start - 10, 0) : each.end + 10]
    return (
        f"{len(cut):,} of {len(contents.spaced):,} entities begin or end inside words, such as "
        f"{quoted(text[each.start : each.end])} in {quoted(around)}; correct the offsets, or, if "
        "names are written like this, let `allennlp start` choose the `tokenizer`"
    )


def inclusive_ends(contents: Contents) -> Optional[str]:
    """Between words without blanks, equal entities nearly always go on with the same letter.

    One further, they do not. So the letter is the last one of the entity.
    """
    found = [
        (text.text, each)
        for text in contents.texts
        if text.tokens is None
        for each in text.entities
        if each.end - each.start > 1 and is_unspaced(text.text[each.start : each.end])
    ]
    further = [(text, each._replace(end=each.end + 1)) for text, each in found]
    same, num, example = _going_on_alike(found)
    others, num_others, _ = _going_on_alike(further)
    if num < 2 * FEWEST or same < _MOSTLY * num or others > MOST * num_others:
        return None
    return (
        f"{same:,} of {num:,} entities that occur again go on with the same letter, such as "
        f"{quoted(example[:-1])} with {quoted(example[-1])}; if ends are those of the last letters, "
        "read the file with `--offsets inclusive`"
    )


def _going_on_alike(found: Sequence[Tuple[str, Annotation]]) -> Tuple[int, int, str]:
    """Counts the entities after the first of their words that go on with its most frequent letter.

    Returns their number, that of all after the first, and the most frequent entity with its letter.
    """
    following: Dict[str, Counter[str]] = {}
    for text, each in found:
        own = following.setdefault(text[each.start : each.end], Counter())
        own[text[each.end] if joins(text, each.end) else ""] += 1
    same, most, example = 0, 0, ""
    for words, letters in following.items():
        letter, number = max(
            ((letter, n) for letter, n in letters.items() if letter),
            key=lambda pair: pair[1],
            default=("", 1),
        )
        same += number - 1
        if number > most:
            most, example = number, words + letter
    return same, sum(each.total() - 1 for each in following.values()), example


def misread_bytes(contents: Contents) -> Optional[str]:
    """Most words with other letters than those of English were read in the wrong encoding."""
    words = [word for each in contents.words for word in each if not word.isascii()]
    read = {word: found for word in {*words} if (found := _read_as_utf8(word)) is not None}
    misread = [word for word in words if word in read]
    if len(misread) < FEWEST or len(misread) <= MOST * len(words):
        return _in_other_script(words)
    encoding, right = read[misread[0]]
    return (
        f"{len(misread):,} of {len(words):,} words that are not ASCII look like UTF-8 that was read as "
        f"{encoding}, such as {quoted(misread[0])} for {quoted(right)}; write the file again from where "
        "it comes from, as UTF-8"
    )


def _in_other_script(words: Sequence[str]) -> Optional[str]:
    """Most words are nearly all of signs of Windows-1252 or control characters, as misread Cyrillic."""
    several = [word for word in words if len(word) > 1]
    odd = [w for w in several if _CONTROL.search(w) or len(_ODD.findall(w)) > _MOST_ODD * len(w)]
    if len(odd) < FEWEST or len(odd) <= MOST * len(several):
        return None
    return (
        f"{len(odd):,} of {len(several):,} words that are not ASCII have hardly another letter, such as "
        f"{quoted(odd[0])}; if this is another script, name its encoding by `--text-encoding`"
    )


def _read_as_utf8(word: str) -> Optional[Tuple[str, str]]:
    """Returns the encoding that a word of UTF-8 was read in, and the word, if it was."""
    for encoding in _MISREAD_AS:
        try:
            # Bytes without a letter in the encoding are read as control characters.
            stored = b"".join(_stored(letter, encoding) for letter in word)
            right = stored.decode("utf-8")
        except UnicodeError:
            continue
        if right.isprintable():
            return encoding, right
    return None


def _stored(letter: str, encoding: str) -> bytes:
    is_control = 0x80 <= ord(letter) < 0xA0
    return letter.encode("latin-1" if is_control else encoding)


def cut_off(contents: Contents) -> Optional[str]:
    """The last sentence alone lacks its end, as in a copy that broke off."""
    every = [(text, words) for text, words in contents.worded() if words]
    if len(every) <= _MANY or len(contents.texts) >= MOST_TEXTS:
        return None
    goes_on = [_goes_on(text) for text, _ in every]
    has_no_end = [_END.search("".join(words[-2:])) is None for _, words in every]
    for unfinished in (goes_on, has_no_end):
        if unfinished[-1] and not any(unfinished[:-1]):
            return (
                f"1 of {len(every):,} sentences has no end, the last one: "
                f"{quoted(' '.join(every[-1][1]))}; if the file is a copy that broke off, copy it again"
            )
    return None


def _goes_on(text: AnnotatedText) -> bool:
    """Whether a text goes on after its last token."""
    return bool(text.tokens and text.text[text.tokens[-1][1] :].strip())
