"""Files that are no column files: what they look like, and what to do."""

import re
from itertools import islice, pairwise
from statistics import mean
from typing import Iterable, List, Optional, Sequence, Tuple

from tagger.data.survey.spellings import OUTSIDE

#: How many lines are looked at.
_MOST_LINES = 1_000
#: The share of lines, or of words, that have a form if the file has it.
_SHARE, _LEAST_SHARE = 0.9, 0.5
_ONE_TOKEN = "write one token and its tag on each line, and a blank line after each sentence"
_SPANS = 'write `{"text": "Ada left", "label": [[0, 3, "PER"]]}` on each line of a .jsonl file'
_JSON = re.compile(r'\s*(\{\s*("|\}|$)|\[\s*(\{|\[|"|\]|\d+\s*,|$))')
_INLINE = re.compile(r"<(\w+)(\s[^<>]*)?>[^<>]+</\1>")
#: The end of a line of a column file whose tags spell spans.
_LAST_TAG = re.compile(r"[\s,;](O|[BIOESLUM]-\S+)\s*$")
_SENTENCE_END = re.compile(r"[\w'\"”)][.!?…][\"'”’)]*\s*")
_TAGGED_WORD = re.compile(r"\S+[/_|][A-Z0-9$.,:#'`()?!;-]+")


def looks_like_json(text: str) -> bool:
    """Whether a text starts as JSON does, unlike a column file whose first token is a bracket.

    Example:
        >>> looks_like_json('{"text": 1}'), looks_like_json("[ O"), looks_like_json("[")
        (True, False, True)
    """
    return _JSON.match(text) is not None


def what_else(lines: Iterable[str], opening: str = "") -> Optional[str]:
    """Returns what a file looks like that is no column file, and what to do; None if it may be one.

    Args:
        lines: The lines of the file, without comments.
        opening: Its first line, whatever it is.

    Example:
        >>> print(what_else(["Ada/NNP left/VBD", "Why/WRB not/RB ?/."]))
        one sentence a line, with a tag behind each word (`Ada/NNP`); write one token and its tag on ...
    """
    first = list(islice((line for line in lines if line.strip()), _MOST_LINES))
    text = "\n".join(first)
    kinds = (
        (looks_like_json(text), f"JSON of an unknown layout; {_SPANS}"),
        ("\0" in text, "no text, but a binary file; export it as text, such as CSV"),
        (
            opening.startswith("#FORMAT=WebAnno"),
            "WebAnno's TSV, which is not read; export CoNLL 2002",
        ),
        (text.lstrip().startswith(("<?xml", "<!DOCTYPE")), f"XML, which is not read; {_SPANS}"),
    )
    found = next((what for is_so, what in kinds if is_so), None)
    if found is not None:
        return found
    tagged = sum(bool(_LAST_TAG.search(line)) for line in first)
    is_tagged = tagged >= _SHARE * len(first)
    inline = next((match for line in first if (match := _INLINE.search(line))), None)
    inline = None if is_tagged else inline
    if inline is not None:
        return f"texts with inline tags, such as {inline[0][:60]!r}, which are not read; {_SPANS}"
    ways = (_sentences, _one_column, _running_text) if first else ()
    return next((found for way in ways if (found := way(first)) is not None), None)


def _sentences(lines: Sequence[str]) -> Optional[str]:
    """Recognises one sentence a line: tagged words, or words and then their tags."""
    words = [line.split() for line in lines]
    tagged = sum(bool(_TAGGED_WORD.fullmatch(word)) for line in words for word in line)
    if tagged >= _SHARE * sum(map(len, words)) and mean(map(len, words)) > 1:
        return f"one sentence a line, with a tag behind each word (`{words[0][0]}`); {_ONE_TOKEN}"
    for mark, name in (("\t", "a tab"), ("|||", "`|||`")):
        cells = [[cell.split() for cell in line.split(mark)] for line in lines]
        pairs = [pair for line in cells if (pair := _parallel(line)) is not None]
        lengths = [len(one) for one, _ in pairs]
        if len(pairs) < _SHARE * len(lines) or mean(lengths) < 2:
            continue
        # If all lines have as many words, these may be columns that blanks separate.
        tags = [tag for _, other in pairs for tag in other]
        num_spans = sum(tag in OUTSIDE or tag[1:2] == "-" for tag in tags)
        if len(set(lengths)) > 1 or num_spans > _LEAST_SHARE * len(tags):
            return f"one sentence a line: its words, {name}, and their tags; {_ONE_TOKEN}"
    return None


def _parallel(cells: List[List[str]]) -> Optional[Tuple[List[str], List[str]]]:
    """Returns two neighbouring cells with as many words, or with one more: a tag of the sentence."""
    return next(
        (
            (one, other)
            for one, other in pairwise(cells)
            if len(other) == len(one) > 0 or len(other) == len(one) + 1 > 2
        ),
        None,
    )


def holds_sentences(tokens: Sequence[str], tags: Sequence[str]) -> Optional[str]:
    """Says that the cells of a column hold whole sentences, and those of another their tags."""
    pairs = [(len(token.split()), len(tag.split())) for token, tag in zip(tokens, tags)]
    parallel = [words for words, others in pairs if words == others]
    if len(parallel) < _SHARE * len(pairs) or mean(parallel) < 2:
        return None
    return f"one sentence a line: its words in one column, and their tags in another; {_ONE_TOKEN}"


def _one_column(lines: Sequence[str]) -> Optional[str]:
    """Recognises single words, and texts without tags."""
    words = [len(line.split()) for line in lines]
    has_marks = any(mark in line.strip()[1:-1] for line in lines for mark in ",;|")
    if not has_marks and sum(number == 1 for number in words) >= _SHARE * len(words):
        return f"one column: there are no tags; {_ONE_TOKEN}"
    return None


def _running_text(lines: Sequence[str]) -> Optional[str]:
    ending = sum(bool(_SENTENCE_END.search(line.rstrip()[-4:])) for line in lines)
    if ending >= _LEAST_SHARE * len(lines) and mean(len(line.split()) for line in lines) > 2:
        return f"running text: there are no tags; {_ONE_TOKEN}"
    return None
