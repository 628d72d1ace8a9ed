"""Doubts that need more than the texts: a tokenizer, or a second file."""

from typing import Iterable, Optional, Sequence, Tuple

from allennlp.data import Tokenizer

from tagger.data.doubts.contents import FEWEST, quoted, without_blanks
from tagger.data.formats.annotated_text import PLAIN_TAGS, AnnotatedText
from tagger.data.splitting.overlap import Overlap
from tagger.data.tokenizers import words_of

#: A tokenizer must keep this share of the entities of a text.
_LEAST_KEPT = 0.9
#: From this share of copies on, a development set shows little.
_MOST_COPIES = 0.05


def fitting_entities(texts: Iterable[AnnotatedText], tokenizer: Tokenizer) -> Tuple[int, int, str]:
    """Counts the entities that begin and end with tokens, and all; also returns one that does not."""
    kept, num, example = 0, 0, ""
    for text in texts:
        words, starts = words_of(tokenizer, text.text)
        ends = {start + len(word) for word, start in zip(words, starts)}
        begins = {*starts}
        for each in text.entities:
            start, end = without_blanks(text.text, each)
            fits = start in begins and end in ends
            num, kept = num + 1, kept + fits
            example = example if fits or example else text.text[start:end]
    return kept, num, example


def lost_in_text(
    texts: Sequence[AnnotatedText], tokenizer: Tokenizer, remedy: str
) -> Optional[str]:
    """Says which share of entities a tokenizer can give on text, if it is low, and what helps."""
    spans = [text for text in texts if not text.properties.get(PLAIN_TAGS)]
    kept, num, example = fitting_entities(spans, tokenizer)
    if num < FEWEST or kept >= _LEAST_KEPT * num:
        return None
    return (
        f"{num - kept:,} of {num:,} entities, such as {quoted(example)}, begin or end inside tokens "
        f"when text is split by {tokenizer}: on gold tokens their F1 may be 100.0, on text "
        f"{kept / num:.1%} at most; {remedy}"
    )


def copies(found: Overlap, noun: str) -> Optional[str]:
    """Says how many sentences stand on both sides, if they are many."""
    if found.num_long_copies <= _MOST_COPIES * found.num_sentences:
        return None
    return (
        f"{found.num_long_copies:,} of {found.num_sentences:,} {noun} are exact copies of training "
        "ones, of five words or more; remove copies before you split"
    )
