"""Splits texts into tokens by the rules of a language, or with `tagger_texts.segments`."""

import re
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from tagger_texts.segments import Token, split_around_emoji, splitter_at

_PIECE = re.compile(r"\S+")
# The largest number of cached pieces of text.
_MAX_PIECES = 100_000


def splitter_of(splitting: Dict[str, Any]) -> Callable[[str], List[Token]]:
    """Returns a function that splits texts as described by `describe_splitting` in the export."""
    return splitter_at(splitting["pattern"]) if "pattern" in splitting else Splitter(splitting)


class Splitter:
    """Splits texts into tokens like `spacy.blank(language)`, without spaCy, but cuts no emoji.

    Each piece of text between blanks is split separately. Prefixes and suffixes are taken off until an
    exception or nothing is left, and the rest is split at its infixes. Finally, exceptions that contain
    such characters are looked up in the result.
    """

    def __init__(self, rules: Dict[str, Any]) -> None:
        self._prefix, self._suffix, self._infix, self._token, self._url = (
            _compiled(rules[name]) for name in ("prefix", "suffix", "infix", "token", "url")
        )
        self._exceptions: Dict[str, List[str]] = rules["exceptions"]
        # Exceptions that the rules would take apart, by the resulting tokens.
        self._rejoined: Dict[Tuple[str, ...], str] = {}
        for text in self._exceptions:
            if any(
                each and each.search(text) for each in (self._prefix, self._infix, self._suffix)
            ):
                self._rejoined[tuple(self._split_by_rules(text, {}))] = text
        self._rejoined_firsts = {tokens[0] for tokens in self._rejoined}
        self._longest = max(map(len, self._rejoined), default=0)
        self._split = lru_cache(_MAX_PIECES)(
            partial(self._split_by_rules, exceptions=self._exceptions)
        )

    def __call__(self, text: str) -> List[Token]:
        """Splits a text."""
        return split_around_emoji(text, self._split_text)

    def _split_text(self, text: str) -> List[Token]:
        tokens: List[Token] = []
        end = 0
        for piece in _PIECE.finditer(text):
            position = piece.start()
            if text[end:position] not in ("", " "):
                # spaCy treats other blanks as tokens, so no exception spans them.
                tokens.append(Token("", end))
            for token in self._split(piece[0]):
                tokens.append(Token(token, position))
                position += len(token)
            end = position
        return [token for token in self._with_exceptions(tokens, text) if token.text]

    def _split_by_rules(self, piece: str, exceptions: Dict[str, List[str]]) -> List[str]:
        if piece in exceptions:
            return exceptions[piece]
        prefixes, middle, suffixes = self._without_affixes(piece, exceptions)
        if middle in exceptions:
            inner = exceptions[middle]
        elif not middle:
            inner = []
        elif _matches(self._token, middle) or _matches(self._url, middle):
            inner = [middle]
        else:
            inner = self._split_at_infixes(middle)
        return [*prefixes, *inner, *reversed(suffixes)]

    def _without_affixes(
        self, piece: str, exceptions: Dict[str, List[str]]
    ) -> Tuple[List[str], str, List[str]]:
        """Takes off prefixes and suffixes, the outermost first."""
        prefixes: List[str] = []
        suffixes: List[str] = []
        last_length = 0
        while piece and len(piece) != last_length:
            if _matches(self._token, piece) or piece in exceptions:
                break
            last_length = len(piece)
            found = self._prefix and self._prefix.search(piece)
            num_before = len(found[0]) if found else 0
            if num_before and piece[num_before:] in exceptions:
                prefixes.append(piece[:num_before])
                piece = piece[num_before:]
                break
            found = self._suffix and self._suffix.search(piece[num_before:])
            num_behind = len(found[0]) if found else 0
            end = len(piece) - num_behind
            if num_behind and piece[:end] in exceptions:
                suffixes.append(piece[end:])
                piece = piece[:end]
                break
            if num_before:
                prefixes.append(piece[:num_before])
            if num_behind:
                suffixes.append(piece[end:])
            piece = piece[num_before:end]
        return prefixes, piece, suffixes

    def _split_at_infixes(self, piece: str) -> List[str]:
        tokens: List[str] = []
        position = 0
        for infix in self._infix.finditer(piece) if self._infix else ():
            if infix.start() == 0:
                continue
            tokens += [piece[position : infix.start()], infix[0]]
            position = infix.end()
        return [token for token in [*tokens, piece[position:]] if token]

    def _with_exceptions(self, tokens: List[Token], text: str) -> List[Token]:
        """Replaces tokens that spell an exception; if exceptions overlap, the longest wins."""
        found = [
            (first - last, first, last)
            for first in range(len(tokens))
            if tokens[first].text in self._rejoined_firsts
            for last in range(first + 1, min(first + self._longest, len(tokens)) + 1)
            if tuple(token.text for token in tokens[first:last]) in self._rejoined
        ]
        taken: Set[int] = set()
        exceptions: List[Tuple[int, int, List[str]]] = []
        for _, first, last in sorted(found):
            is_free = first not in taken and last - 1 not in taken
            taken.update(range(first, last))
            end = tokens[last - 1].start + len(tokens[last - 1].text)
            own = self._exceptions.get(text[tokens[first].start : end])
            # Tokens with a blank between them do not spell the exception, but they do block others.
            if is_free and own:
                exceptions.append((first, last, own))
        for first, last, own in sorted(exceptions, reverse=True):
            starts = accumulate(map(len, own), initial=tokens[first].start)
            tokens[first:last] = map(Token, own, starts)
        return tokens


def _compiled(rule: Optional[Dict[str, Any]]) -> Optional[re.Pattern]:
    if rule is None:
        return None
    return re.compile(rule["pattern"], re.IGNORECASE if rule["ignore_case"] else 0)


def _matches(expression: Optional[re.Pattern], text: str) -> bool:
    return expression is not None and expression.match(text) is not None
