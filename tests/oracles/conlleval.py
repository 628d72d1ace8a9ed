"""Counts chunks as conlleval does, by the rules of the CoNLL shared tasks, one token at a time.

For BIO and IOB1 tags. A chunk ends where the next tag is `O` or `B-` or has another type. It starts at
`B-`, and at an `I-` after `O` or after another type. A guessed chunk is correct if a gold chunk of the
same type has the same start and end.
"""

from collections import Counter
from typing import List, NamedTuple, Sequence, Tuple


class ChunkCounts(NamedTuple):
    """Numbers of chunks by type."""

    correct: Counter
    guessed: Counter
    gold: Counter


def count_chunks(
    gold_sentences: Sequence[List[str]], guessed_sentences: Sequence[List[str]]
) -> ChunkCounts:
    """Counts both columns in one pass, as conlleval does, with an empty line after each sentence."""
    counts = ChunkCounts(Counter(), Counter(), Counter())
    previous_gold = previous_guess = ("O", "")
    in_correct = False
    for gold, guess in _lines(gold_sentences, guessed_sentences):
        if in_correct:
            ends = (_ends(previous_gold, gold), _ends(previous_guess, guess))
            if all(ends):
                counts.correct[previous_gold[1]] += 1
            if any(ends):
                in_correct = False
        starts = (_starts(previous_gold, gold), _starts(previous_guess, guess))
        if all(starts) and gold[1] == guess[1]:
            in_correct = True
        counts.gold[gold[1]] += starts[0]
        counts.guessed[guess[1]] += starts[1]
        previous_gold, previous_guess = gold, guess
    return counts


def _lines(gold_sentences, guessed_sentences):
    for gold_tags, guessed_tags in zip(gold_sentences, guessed_sentences, strict=True):
        for gold, guess in zip([*gold_tags, "O"], [*guessed_tags, "O"], strict=True):
            yield _split(gold), _split(guess)


def _split(tag: str) -> Tuple[str, str]:
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def _ends(previous: Tuple[str, str], current: Tuple[str, str]) -> bool:
    """Whether a chunk ends between two tags."""
    if previous[0] == "O":
        return False
    return current[0] in ("O", "B") or previous[1] != current[1]


def _starts(previous: Tuple[str, str], current: Tuple[str, str]) -> bool:
    """Whether a chunk starts at the second of two tags."""
    if current[0] == "O":
        return False
    return current[0] == "B" or previous[0] == "O" or previous[1] != current[1]
