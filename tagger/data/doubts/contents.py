"""What was read, as the doubts look at it."""

import re
from collections import Counter
from functools import cached_property
from typing import List, Sequence, Tuple

import regex

from tagger.data.formats.annotated_text import PLAIN_TAGS, AnnotatedText, Annotation
from tagger_compat.archive_guard import shortened
from tagger_texts.segments import is_unspaced

#: Fewer sentences or entities than this show nothing, nor does a smaller share.
FEWEST, MOST = 5, 0.5
#: The share from which on something is the rule in a file.
RULE = 0.9
#: How many texts of a file are shown, counted and doubted.
MOST_TEXTS = 10_000
PATH = re.compile(r"(https?|ftp|s3|gs|file)://\S+|(\.{0,2}/|[A-Za-z]:\\)[\w.@%+-]+([/\\]\S*)?")
#: Two parts of a character, such as a letter with an accent, or an emoji.
_PARTS = regex.compile(r".[\p{M}\p{EMod}\u200d]|\u200d.|[\U0001F1E6-\U0001F1FF]{2}", regex.DOTALL)
MARK_UP = re.compile(r"<(START|END)\b|<END>|</?\w+(:\w+)?>|\]\(|\]\{|__|\{\"|\{\{|\}\}|\{\w+\}")
TAG_LABEL = re.compile(r"([BIOESLUMbioeslum])[\W_]+(\S+)")


class Contents:
    """What was read: texts, with their words and entities."""

    def __init__(self, texts: Sequence[AnnotatedText]) -> None:
        self.texts = texts
        self.is_plain = any(text.properties.get(PLAIN_TAGS) for text in texts)

    @cached_property
    def words(self) -> List[List[str]]:
        """The tokens of each text, or its words between blanks."""
        return [
            each.text.split()
            if each.tokens is None
            else [each.text[start:end] for start, end in each.tokens]
            for each in self.texts
        ]

    def worded(self) -> List[Tuple[AnnotatedText, List[str]]]:
        """The texts with their words."""
        return [*zip(self.texts, self.words)]

    @cached_property
    def entities(self) -> List[Tuple[str, Annotation]]:
        """All entities, with the texts that hold them; none if each token has a plain label."""
        return [] if self.is_plain else [(t.text, each) for t in self.texts for each in t.entities]

    @cached_property
    def spaced(self) -> List[Tuple[str, Annotation]]:
        """The entities in scripts with blanks between words."""
        return [
            (text, each)
            for text, each in self.entities
            if not is_unspaced(text[each.start : each.end])
        ]


def joins(text: str, at: int) -> bool:
    """Whether a place is between two letters or digits, or between two parts of one character."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    return (before.isalnum() and after.isalnum()) or bool(_PARTS.fullmatch(before + after))


def without_blanks(text: str, entity: Annotation) -> Tuple[int, int]:
    """Returns the start and end of an entity without white space around it, as readers take it."""
    words = text[entity.start : entity.end]
    start = entity.start + len(words) - len(words.lstrip())
    return start, max(start, entity.start + len(words.rstrip()))


def label_counts(contents: Contents) -> Counter[str]:
    """Returns the number of entities, or tokens, with each label."""
    return Counter(each.label for text in contents.texts for each in text.entities)


def quoted(text: str) -> str:
    """Returns the start and end of a text in quotes, for messages."""
    return repr(shortened(text, 60))
