"""Measures how much of a development set occurs in the training set, which flatters its figures."""

import re
from collections import Counter, defaultdict
from typing import Dict, List, NamedTuple, Sequence, Set, Tuple

from tagger.data.splitting.split import Item

Words = Tuple[str, ...]

#: A sentence is a near duplicate if a sentence of the other part has this share of its trigrams.
_NEAR = 0.8
#: Trigrams in more sentences than this are ignored.
_MOST_SENTENCES = 200
#: From so many words on, a copy is hardly an accident, as headlines and scores of matches are.
_LONG = 5
#: From these shares on, figures are called optimistic.
SEEN_LIMIT, NEAR_LIMIT = 0.7, 0.1


class Overlap(NamedTuple):
    """The overlap between a development set and the training set.

    Attributes:
        num_seen: How many entities have the same words as a training entity, ignoring case and label.
        num_near: How many sentences, or texts, nearly duplicate a training sentence: they are equal
            except for case and digits, or have 80 % of their word trigrams in a single one.
        num_copies: How many of these have exactly the words of a training sentence.
        num_long_copies: How many of these are no headlines or scores, but have several words.
    """

    num_entities: int
    num_seen: int
    num_sentences: int
    num_near: int
    num_copies: int = 0
    num_long_copies: int = 0

    @property
    def seen(self) -> float:
        """The share of seen entities."""
        return self.num_seen / max(self.num_entities, 1)

    @property
    def near(self) -> float:
        """The share of near duplicates."""
        return self.num_near / max(self.num_sentences, 1)

    def describe(self, noun: str = "sentences") -> str:
        """Describes both shares in one line."""
        seen = ""
        if self.num_entities:
            entities = f"{self.num_entities:,} entities"
            seen = f"{self.seen:.1%} of {entities} have the words of a training entity; "
        near = f"{self.near:.1%} of {self.num_sentences:,} {noun} nearly equal a training one"
        return f"{seen}{near}" + (f", {self.num_copies:,} exactly" if self.num_copies else "")

    def warning(self) -> str:
        """Warns of optimistic figures if a share is above its limit; empty otherwise."""
        reasons = []
        if self.seen > SEEN_LIMIT:
            reasons.append("most entities are known by their words")
        if self.near > NEAR_LIMIT:
            reasons.append("many sentences nearly occur in the training part")
        return f"{' and '.join(reasons)}: expect lower figures on new texts" if reasons else ""


def overlap(train: Sequence[Item], dev: Sequence[Item]) -> Overlap:
    """Measures how much of a development set is in the training set."""
    known = {words.lower() for item in train for _, words in item.entities}
    entities = [words.lower() for item in dev for _, words in item.entities if words]
    if len(entities) == sum(len(item.words) for item in dev):
        entities = []  # parts of speech, or other labels of all tokens
    num_seen = sum(words in known for words in entities)
    originals = {tuple(item.words) for item in train}
    lengths = [len(item.words) for item in dev if tuple(item.words) in originals]
    num_long = sum(length >= _LONG for length in lengths)
    num_near = _num_near(train, dev)
    return Overlap(len(entities), num_seen, len(dev), num_near, len(lengths), num_long)


def _num_near(train: Sequence[Item], dev: Sequence[Item]) -> int:
    plain = [_plain(item) for item in train]
    equal = set(plain)
    wanted = [(words, _trigrams(words)) for words in map(_plain, dev)]
    counted = set[Words]().union(*(trigrams for _, trigrams in wanted))
    places: Dict[Words, List[int]] = defaultdict(list)
    for number, words in enumerate(plain):
        for trigram in _trigrams(words) & counted:
            places[trigram].append(number)

    def most_alike(trigrams: Set[Words]) -> int:
        found = [places.get(trigram, ()) for trigram in trigrams]
        counts = Counter(n for each in found if len(each) <= _MOST_SENTENCES for n in each)
        return max(counts.values(), default=0)

    return sum(
        words in equal or (bool(trigrams) and most_alike(trigrams) >= _NEAR * len(trigrams))
        for words, trigrams in wanted
    )


def _plain(item: Item) -> Words:
    """Returns the words in lowercase, with 0 for each digit."""
    return tuple(re.sub(r"\d", "0", " ".join(item.words).lower()).split(" "))


def _trigrams(words: Words) -> Set[Words]:
    return set(zip(words, words[1:], words[2:]))
