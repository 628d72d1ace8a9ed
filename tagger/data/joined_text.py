"""Joins the tokens of a corpus into naturally spaced text."""

from typing import List, NamedTuple, Sequence, Set, Tuple

import regex

from tagger_texts.segments import blanks_before

#: Marks without a blank before them, and marks without a blank after them.
_CLOSING = regex.compile(
    r"[\p{Terminal_Punctuation}\p{Pe}%»”…]+|['’](?:\w{1,2})?|n['’]t", regex.IGNORECASE
)
_OPENING = regex.compile(r"[\p{Ps}«“‘¿¡$£€#]+")
#: The end of an article or pronoun that has lost its vowel, as in French `L'`.
_ELIDED = regex.compile(r"[\p{L}\p{M}]{1,8}['’]")


class JoinedText(NamedTuple):
    """A text with the start and exclusive end of each token, in characters."""

    text: str
    spans: List[Tuple[int, int]]


def join_tokens(tokens: Sequence[str]) -> JoinedText:
    r"""Joins tokens as their scripts are written, with punctuation attached to words.

    Closing marks are attached to the preceding word; opening marks and elided articles to the following
    one; straight quotation marks alternate. Other tokens are separated by a blank if their scripts use
    blanks. This guesses the original spacing for files that do not keep it.

    Example:
        >>> join_tokens(["Ada", "'s", "aunt", "(", "in", "Rome", ")", "said", ":", '"', "No", '"']).text
        'Ada\'s aunt (in Rome) said: "No"'
        >>> join_tokens(["L'", "Oise", ",", "à", "Paris"]).text
        "L'Oise, à Paris"
        >>> [join_tokens(each.split()).text for each in ("我 爱 New York 。", "क्या ? हाँ ।")]
        ['我爱New York。', 'क्या? हाँ।']
    """
    text, spans = "", []
    is_open: Set[str] = set()
    joins_next = True
    for token, has_blank in zip(tokens, blanks_before(tokens)):
        is_quote = token in ('"', "''", "``")
        closes = '"' in is_open if is_quote else _CLOSING.fullmatch(token) is not None
        if has_blank and not (joins_next or closes):
            text += " "
        if is_quote:
            is_open ^= {'"'}
            joins_next = not closes
        else:
            joins_next = bool(_OPENING.fullmatch(token) or _ELIDED.fullmatch(token))
        spans.append((len(text), len(text) + len(token)))
        text += token
    return JoinedText(text, spans)
