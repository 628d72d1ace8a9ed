"""How reliable sources are: copies, chance, precision, recall and typical errors.

Letters as in `hidden_chain`.
"""

import itertools
from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch

from tagger.spans.finding import Spans, TagTables, find_spans, tag_tables
from tagger.spans.matching import SpanMatches, count_span_confusions
from tagger.tools.sources.hidden_chain import HiddenChain, Votes
from tagger.tools.sources.posterior import best_tags

#: Two sources are suspected if they agree on this share of the tokens in entities of either; one is a
#: copy if they share this share of their errors, and at least so many tokens with an error.
_SUSPICIOUS, _SHARED_ERRORS, _FEWEST_ERRORS = 0.8, 0.9, 10
#: A source with this share of the highest kappa is no better than chance, and the fewest tokens in
#: entities of which that is said.
_CHANCE, _FEWEST_TOKENS = 0.05, 20
_NUM_ERRORS = 3


class Reliability(NamedTuple):
    """What the merged labels say about a source.

    Attributes:
        num_texts: The texts that it labelled.
        num_entities: The entities that it found.
        precision: The share of these that are among the merged ones; None without any.
        recall: The share of the merged entities in its texts that it found, of the labels that it gives
            anywhere; None without any.
        errors: Its most frequent errors, with their numbers, such as `ORG as LOC`.
        copy_of: The source that it copies.
        is_chance: Whether its labels are no better than chance.
    """

    num_texts: int
    num_entities: int
    precision: Optional[float]
    recall: Optional[float]
    errors: List[Tuple[str, int]]
    copy_of: Optional[str] = None
    is_chance: bool = False


class CrossChecks:
    """Compares the sources of fitted votes with what the other sources say.

    Args:
        chain: The model, fitted to the votes.
        votes: The votes.
    """

    def __init__(self, chain: HiddenChain, votes: Votes) -> None:
        self._chain, self._votes = chain, votes
        num_tokens, device = len(votes.gold), votes.gold.device
        #: (S, N), the tag that each source gives, -1 without a vote.
        self.given = torch.full((chain.num_sources, num_tokens), -1, device=device)
        self.given[votes.sources, votes.tokens] = votes.tags
        self._num_votes = (self.given >= 0).sum(0)
        rows = torch.arange(len(votes.lengths), device=device)
        # (N,), the sentence of each token
        self._row_of = torch.repeat_interleave(rows, votes.lengths)
        #: (S, B) bool, whether a source has read a sentence.
        self.has_read = torch.zeros(chain.num_sources, len(rows), dtype=torch.bool, device=device)
        self.has_read[votes.sources, self._row_of[votes.tokens]] = True

    def find_copies(self) -> Dict[int, int]:
        """Returns the sources that repeat another one's labels, errors included, with the other.

        Errors are what all the others together contradict, so a pair needs a third source.
        """
        copies: Dict[int, int] = {}
        for a, b in itertools.combinations(range(self._chain.num_sources), 2):
            is_shared = (self.given[[a, b]] >= 0).all(0) & (self._num_votes > 2)
            in_entities = is_shared & (self.given[[a, b]] > 0).any(0)
            is_same = self.given[a] == self.given[b]
            if not in_entities.any() or float(is_same[in_entities].double().mean()) < _SUSPICIOUS:
                continue
            others = self._without([a, b])
            is_wrong = is_shared & ((self.given[a] != others) | (self.given[b] != others))
            num_wrong, num_shared = int(is_wrong.sum()), int((is_wrong & is_same).sum())
            if num_wrong >= _FEWEST_ERRORS and num_shared >= _SHARED_ERRORS * num_wrong:
                copy, original = sorted((a, b), key=lambda s: (int(self.has_read[s].sum()), -s))
                copies.setdefault(copy, original)
        return copies

    def is_repeated(self, copies: Dict[int, int]) -> torch.Tensor:
        """Whether each vote is of a copy, in a sentence that the original has read, too; (M,) bool."""
        sources, rows = self._votes.sources, self._row_of[self._votes.tokens]
        pairs = copies.items()
        return sum(
            ((sources == copy) & self.has_read[original][rows] for copy, original in pairs),
            start=torch.zeros_like(sources, dtype=torch.bool),
        )

    def is_chance(self, source: int) -> bool:
        """Whether a source agrees with the others' labels no more than by chance.

        By Cohen's kappa as a share of the highest that the numbers of labels allow (Cohen 1960), since
        a rule that finds few places cannot agree with others about the rest.
        """
        is_shared = (self.given[source] >= 0) & (self._num_votes > 1)
        label_of = self._chain.label_of
        own, others = label_of[self.given[source]][is_shared], self._without([source])[is_shared]
        others = label_of[others]
        if min(int((own > 0).sum()), int((others > 0).sum())) < _FEWEST_TOKENS:
            return False
        size = int(label_of[-1]) + 1
        shares = torch.bincount(own * size + others, minlength=size**2).double() / len(own)
        table = shares.view(size, size)
        of_others, of_own = table.sum(0), table.sum(1)
        by_chance, highest = of_others @ of_own, torch.minimum(of_others, of_own).sum()
        return bool(table.trace() - by_chance <= _CHANCE * (highest - by_chance))

    def _without(self, sources: Sequence[int]) -> torch.Tensor:
        """The best tags, (N,), in sentences that these have read, without their votes; else 0."""
        rows = self.has_read[list(sources)].all(0)
        tokens = rows[self._row_of]
        own = torch.isin(self._votes.sources, self._votes.sources.new_tensor(sources))
        emissions = self._chain.emissions(self._votes.where(~own))
        best = torch.zeros_like(self._row_of)
        if rows.any():
            chains = self._chain.chains(emissions[tokens], self._votes.lengths[rows])
            best[tokens] = best_tags(chains)
        return best


def reliability(
    tags: Sequence[str], given: np.ndarray, merged: np.ndarray, starts: np.ndarray, num_texts: int
) -> Reliability:
    """Compares a source with the merged labels.

    Args:
        tags: The K tags.
        given: (N,), the source's tags; -1 where it has not voted.
        merged: (N,), the merged tags.
        starts: (N,) bool, whether a token starts a sentence.
        num_texts: The number of texts that the source has read.
    """
    tables = tag_tables(tags, "BIO")
    own, true = (_spans(tables, np.where(given >= 0, each, 0), starts) for each in (given, merged))
    size = len(tables.labels)
    known = {*own.labels.tolist()} or {*range(size)}
    confusions = count_span_confusions(SpanMatches(true, own, true, own), size)
    num_right = int(np.trace(confusions[:size, :size]))
    num_true = int(np.isin(true.labels, [*known]).sum())
    errors: Counter[str] = Counter()
    for row, column in zip(*map(np.ndarray.tolist, confusions.nonzero())):
        name = _error(tables.labels, row, column)
        if row != column and name and (row in known or column != size + 2):
            errors[name] += int(confusions[row, column])
    return Reliability(
        num_texts,
        len(own.labels),
        num_right / len(own.labels) if len(own.labels) else None,
        num_right / num_true if num_true else None,
        errors.most_common(_NUM_ERRORS),
    )


def _spans(tables: TagTables, tags: np.ndarray, starts: np.ndarray) -> Spans:
    """Finds spans in (N,) tags of legal sentences, at positions with a gap before each sentence."""
    positions = np.arange(len(tags)) + np.cumsum(starts)
    laid = np.full(len(tags) + int(starts.sum()) + 1, len(tables.label_of) - 1)
    laid[positions] = tags
    return find_spans(tables, laid)


def _error(labels: Sequence[str], row: int, column: int) -> Optional[str]:
    """Names a cell of `count_span_confusions`; None for what is counted on the source's side, too."""
    size = len(labels)
    if row < size:
        missed = f"{labels[row]} missed" if column == size + 2 else None
        return f"{labels[row]} as {labels[column]}" if column < size else missed
    how = ("with other borders", "over another entity", "over nothing")[row - size]
    return f"{labels[column]} {how}"
