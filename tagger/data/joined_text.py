"""Joins the tokens of a corpus into text, as somebody would have typed it."""

from typing import List, NamedTuple, Sequence, Set, Tuple

import regex

from tagger_onnx.segments import blanks_before

#: Marks that follow a word without a blank, and marks that a word follows so.
_CLOSING = regex.compile(
    r"[\p{Terminal_Punctuation}\p{Pe}%»”…]+|['’](?:\w{1,2})?|n['’]t", regex.IGNORECASE
)
_OPENING = regex.compile(r"[\p{Ps}«“‘¿¡$£€#]+")
#: The end of an article or pronoun that has lost its vowel, as in French `L'`.
_ELIDED = regex.compile(r"[\p{L}\p{M}]{1,8}['’]")


class JoinedText(NamedTuple):
    """A text, and the first character of each of its tokens and the one behind its last."""

    text: str
    spans: List[Tuple[int, int]]


def join_tokens(tokens: Sequence[str]) -> JoinedText:
    r"""Joins tokens as their scripts are written, with punctuation beside the word it belongs to.

    A token of closing marks follows its word, a token of opening marks or with an elided vowel stands
    before it, and straight quotation marks do one and the other by turns. Between other tokens there is
    a blank, if their scripts have blanks. Where files do not keep the spacing of the text that they were
    made of, this is the likely one.

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
