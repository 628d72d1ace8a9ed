"""The true tags behind the tags that several sources give, as a hidden Markov chain.

The true tags are a chain, which only takes legal steps. Each source has its own confusion matrix,
which depends on what the source said about the token before (Nguyen et al. 2017; Simpson &
Gurevych 2019, "BSC-seq"); overlooking an entity is the confusion of its tags with `O`. Expectation
maximisation finds the parameters. The expectations are exact, by `tagger.linear_chain`.

The means of the Dirichlet priors are learnt, too: sources do to one label what sources
do to labels in general, until a source's own tags say otherwise. So rare labels, and sources that
labelled little, are treated like the others.

Lists and rules are sparse: each marks a few words, and others than the rest. Such sources depend on one
another, and expectation maximisation would take what only one of them marks for an error. So if none
of them finds most of what all find, their silence says little, and each is believed; see `believed`.

Letters: `N` tokens of all sentences, `B` sentences, `T` tokens of the longest, `M` votes (a source's tag
of a token), `S` sources, `K` BIO tags, `C` labels.
"""

from typing import NamedTuple, Optional, Sequence, Tuple

import torch

from tagger.spans.transitions import transition_table
from tagger.tools.sources.posterior import Chains, expectations

#: How many observations the priors of confusions and of transitions count as. Chosen, like the number of
#: iterations, for the F1 on the validation part of the crowd's annotations of CoNLL-2003.
SOURCE_PRIOR, TRANSITION_PRIOR = 30.0, 1000.0
_MAX_ITERATIONS = 20
#: How often sources in general are right and miss an entity, for each other error, until data say more.
_RIGHT, _MISSED = 20.0, 10.0
#: Expectation maximisation stops when probabilities change by less than this, on average.
_TOLERANCE = 1e-4
#: The probability of a tag for which nobody voted, in what the first iteration starts from.
_FLOOR = 0.01
#: Sources are sparse if none gives a label to this share of the words to which any of them gives one.
_SPARSE = 0.5


class Votes(NamedTuple):
    """What sources say about tokens. The tags of a source must be legal BIO.

    Args:
        lengths: (B,) int64, the number of tokens of each sentence.
        tokens: (M,) int64, the token of each vote, in [0, N).
        sources: (M,) int64, its source.
        tags: (M,) int64, its tag.
        before: (M,) int64, the label of the same source's tag of the token before, from 1; 0 for `O`,
            and at the start of a sentence.
        gold: (N,) int64, the true tag where it is known, elsewhere -1.
    """

    lengths: torch.Tensor
    tokens: torch.Tensor
    sources: torch.Tensor
    tags: torch.Tensor
    before: torch.Tensor
    gold: torch.Tensor

    def where(self, is_kept: torch.Tensor) -> "Votes":
        """The votes where `is_kept`, (M,) bool; the sentences stay."""
        fields = ("tokens", "sources", "tags", "before")
        return self._replace(**{name: getattr(self, name)[is_kept] for name in fields})


class HiddenChain:
    """The model. `fit` finds its parameters.

    Args:
        labels: The C labels.
        num_sources: S.
        chained: False for Dawid & Skene 1979: a tag depends neither on the true tag before, except that
            it must be legal, nor on what its source said before.
        device: Where to compute; that of the votes.

    Attributes:
        labels, tags: The C labels, and the K tags: `O`, and `B` and `I` of each label.
        label_of: (K,) int64, the label of each tag, from 1; 0 for `O`.
        legal: (K + 1, K) bool, which steps are legal from each tag, and last from the start.
        transitions: (K + 1, K), log-probabilities of steps from each tag, and last from the start.
        confusions: (S, C + 1, K, K), log-probabilities, `[source, label before, true tag, tag given]`;
            (S, 1, K, K) if not `chained`.
        believed: (S, C + 1), how far a source is taken to be right where it gives a label, when its
            errors are counted: 0 unless sources are sparse. Otherwise the share of the words with this
            label that it misses, since the others are as likely to miss what it finds.
    """

    def __init__(
        self,
        labels: Sequence[str],
        num_sources: int,
        chained: bool = True,
        device: Optional[torch.device] = None,
    ) -> None:
        self.tags = ["O", *(f"{prefix}-{label}" for label in labels for prefix in "BI")]
        self.labels, self.num_sources, self.chained = list(labels), num_sources, chained
        every = torch.arange(len(self.tags), device=device)
        self.label_of = torch.div(every + 1, 2, rounding_mode="floor")
        table = torch.from_numpy(transition_table("BIO", self.tags)).to(every.device)
        self.legal = table[:-1, : len(every)]
        self._transition_roles = self._roles(self.label_of[:, None], every[:, None], every)
        # (C + 1, K, K): what a source may say, after a tag of each label
        contexts = torch.arange(len(labels) + 1 if chained else 1, device=device)[:, None, None]
        self._sayable = torch.ones(len(contexts), *table[2:, 2:].shape, device=device).bool()
        if chained:
            is_inside = (every > 0) & (every % 2 == 0)
            self._sayable &= ~is_inside | (self.label_of == contexts)
        self._confusion_roles = self._roles(contexts, every[:, None], every)
        self.transitions = self.confusions = self.believed = torch.empty(0)

    def _roles(
        self, context: torch.Tensor, true: torch.Tensor, given: torch.Tensor
    ) -> torch.Tensor:
        """Numbers what a tag means beside another, whatever the labels: "`B` of another label"."""
        label = self.label_of

        def prefix(tag: torch.Tensor) -> torch.Tensor:
            return torch.where(tag > 0, 2 - tag % 2, 0)

        where = torch.where(context == 0, 0, torch.where(context == label[true], 1, 2))
        return ((where * 3 + prefix(true)) * 3 + prefix(given)) * 2 + (label[true] == label[given])

    def fit(self, votes: Votes) -> Tuple[Chains, torch.Tensor]:
        """Finds the parameters; returns the chains of the true tags, and their probabilities, (N, K)."""
        # (S, C + 1)
        shares = self._shares_found(votes)
        is_sparse = bool((shares[:, 0] < _SPARSE).all())
        self.believed = (1 - shares) * is_sparse
        self.believed[:, 0] = 0
        # (N, K)
        tags = _FLOOR + (_normalised(self.union(votes)) if is_sparse else self.majority(votes))
        tags = tags / tags.sum(1, keepdim=True)
        known = votes.gold >= 0
        tags[known] = torch.eye(len(self.tags)).to(tags)[votes.gold[known]]
        starts = torch.cumsum(votes.lengths, 0) - votes.lengths
        goes_on = torch.ones(len(tags), dtype=torch.bool, device=tags.device)
        goes_on[starts] = False
        steps = tags[:-1][goes_on[1:]].T @ tags[1:][goes_on[1:]]
        steps = torch.cat([steps, tags[starts].sum(0, keepdim=True)])
        for _ in range(_MAX_ITERATIONS):
            self._maximise(votes, tags, steps)
            chains, before = self.chains(self.emissions(votes), votes.lengths), tags
            tags, steps = expectations(chains)
            if float((tags - before).abs().amax(1).mean()) < _TOLERANCE:
                break
        return chains, tags

    def chains(self, emissions: torch.Tensor, lengths: torch.Tensor) -> Chains:
        """The chains of the true tags, from emissions, (N, K), and the lengths of sentences, (B,)."""
        return Chains(emissions, self.transitions, torch.zeros_like(emissions[0]), lengths)

    def majority(self, votes: Votes) -> torch.Tensor:
        """The share of votes for each tag, (N, K), among the sources that know its label.

        `O` gets what the strongest label leaves. Where nobody votes all shares are 0.
        """
        counts = torch.zeros(len(votes.gold), len(self.tags)).double().to(votes.gold.device)
        counts.index_put_((votes.tokens, votes.tags), counts.new_ones(()), accumulate=True)
        knowing = torch.zeros_like(counts)
        knowing.index_add_(0, votes.tokens, self._knows(votes).to(counts)[votes.sources])
        shares = counts / knowing.clamp(min=1)
        # (N, C)
        of_labels = shares[:, 1:].unflatten(1, (-1, 2)).sum(2)
        shares[:, 0] = torch.where(knowing[:, 0] > 0, 1 - of_labels.amax(1), 0)
        return shares

    def union(self, votes: Votes) -> torch.Tensor:
        """Like `majority`, but `O` gets nothing where any source votes for an entity."""
        shares = self.majority(votes)
        shares[(shares[:, 1:] > 0).any(1), 0] = 0
        return shares

    def _shares_found(self, votes: Votes) -> torch.Tensor:
        """Of the words to which any source gives a label, the share to which each gives it, (S, C + 1).

        Words that it has not read do not count. The first column is about all labels together.
        """
        labels = self.label_of[votes.tags]
        # (N, C + 1)
        is_given = torch.zeros(len(votes.gold), len(self.labels) + 1).bool().to(labels.device)
        is_given[votes.tokens, labels] = True
        is_given[:, 0] = is_given[:, 1:].any(1)
        found, every = torch.zeros(2, self.num_sources, is_given.size(1)).double().to(labels.device)
        every.index_add_(0, votes.sources, is_given[votes.tokens].to(every))
        found.index_put_((votes.sources, labels), found.new_ones(()), accumulate=True)
        found[:, 0] = found[:, 1:].sum(1)
        return found / every.clamp(min=1)

    def _knows(self, votes: Votes) -> torch.Tensor:
        """(S, K) bool: `O`, and the tags of the labels that a source gives anywhere."""
        knows = torch.zeros(self.num_sources, int(self.label_of[-1]) + 1, dtype=torch.bool)
        knows = knows.to(votes.gold.device)
        knows[votes.sources, self.label_of[votes.tags]] = True
        knows[:, 0] = True
        return knows[:, self.label_of]

    def _before(self, votes: Votes) -> torch.Tensor:
        return votes.before if self.chained else torch.zeros_like(votes.before)

    def _maximise(self, votes: Votes, tags: torch.Tensor, steps: torch.Tensor) -> None:
        """Sets the parameters to their means given expected tags, (N, K), and steps, (K + 1, K)."""
        if self.chained:
            roles = torch.cat([self._transition_roles, self._transition_roles[:1]])
            expected = torch.ones_like(steps)
            prior = TRANSITION_PRIOR * _in_general(steps, expected, roles, self.legal)
            probabilities = _normalised(steps + prior)
        else:
            probabilities = tags.mean(0).expand_as(steps)
        self.transitions = torch.where(self.legal, probabilities, 0).log()
        # (S, C + 1, K given, K true)
        counts = tags.new_zeros(self.num_sources, *self._sayable.shape)
        places = torch.stack([votes.sources, self._before(votes), votes.tags])
        counts.index_put_(tuple(places), self._true_tags(votes, tags), accumulate=True)
        counts = counts.transpose(2, 3)
        every = torch.arange(len(self.tags), device=tags.device)
        expected = torch.where((every > 0)[:, None] & (every == 0), _MISSED, 1.0)
        expected = torch.where(every[:, None] == every, _RIGHT, expected).to(counts)
        expected = expected.expand_as(self._sayable)
        general = _in_general(counts.sum(0), expected, self._confusion_roles, self._sayable)
        sayable = self._sayable & self._knows(votes)[:, None, None, :]
        general = _normalised(torch.where(sayable, general, 0))
        self.confusions = _normalised(counts + SOURCE_PRIOR * general).log()

    def _true_tags(self, votes: Votes, tags: torch.Tensor) -> torch.Tensor:
        """The expected true tags of each vote, (M, K), for the counts of a source's errors."""
        found = tags[votes.tokens]
        if not self.believed.any():
            return found
        believed = self.believed[votes.sources, self.label_of[votes.tags]]
        believed = torch.where(votes.gold[votes.tokens] >= 0, 0, believed)[:, None]
        return (found * (1 - believed)).scatter_add_(1, votes.tags[:, None], believed)

    def emissions(self, votes: Votes) -> torch.Tensor:
        """The log-probability of the votes under each true tag, (N, K), as far as it is possible."""
        scores = self.confusions.new_zeros(len(votes.gold), len(self.tags))
        given = self.confusions.transpose(2, 3)[votes.sources, self._before(votes), votes.tags]
        return self.possible(scores.index_add_(0, votes.tokens, given), votes)

    def possible(self, scores: torch.Tensor, votes: Votes) -> torch.Tensor:
        """Makes tags impossible that are known to be false.

        Where all votes are `O`, it is the only tag. A label that a single source knows is believed where
        no other vote is for an entity, unless most of its votes are disputed: expectation maximisation
        cannot tell whether the source is right.
        """
        is_entity = votes.tags > 0
        # (N,): the number of votes, and of those for entities
        num, num_entities = (
            torch.bincount(tokens, minlength=len(scores))
            for tokens in (votes.tokens, votes.tokens[is_entity])
        )
        labels, gold = self.label_of[votes.tags], votes.gold[votes.tokens]
        is_disputed = (num_entities[votes.tokens] > 1) | ((gold >= 0) & (gold != votes.tags))
        # (C + 1,): how many more votes for a label are undisputed than disputed
        weights = torch.where(is_disputed, -1.0, 1.0)
        undisputed = torch.bincount(labels, weights)
        known = torch.where((num > 0) & (num_entities == 0), 0, -1)
        is_alone = is_entity & (self._knows(votes).sum(0) == 1)[votes.tags]
        is_believed = is_alone & ~is_disputed & (undisputed[labels] >= 0)
        known[votes.tokens[is_believed]] = votes.tags[is_believed]
        known = torch.where(votes.gold >= 0, votes.gold, known)[:, None]
        every = torch.arange(len(self.tags), device=scores.device)
        return scores.masked_fill((known >= 0) & (known != every), -torch.inf)

    def in_encoding(self, chains: Chains, tags: Sequence[str], tag_encoding: str) -> Chains:
        """The same distribution over spans, as chains over the tags of another encoding."""
        as_bio = {"U": "B", "S": "B", "L": "I", "E": "I", "M": "I"}
        indices = [self.tags.index(as_bio.get(tag[0], tag[0]) + tag[1:]) for tag in tags]
        table = torch.from_numpy(transition_table(tag_encoding, tags)).to(chains.ends.device)
        steps = chains.transitions[[*indices, -1]][:, indices]
        steps = steps.masked_fill(~table[:-1, :-2], -torch.inf)
        ends = chains.ends[indices].masked_fill(~table[:-2, -1], -torch.inf)
        return Chains(chains.emissions[:, indices], steps, ends, chains.lengths)


def _normalised(counts: torch.Tensor) -> torch.Tensor:
    return counts / counts.sum(-1, keepdim=True).clamp(min=1e-300)


def _in_general(
    counts: torch.Tensor, expected: torch.Tensor, roles: torch.Tensor, legal: torch.Tensor
) -> torch.Tensor:
    """Distributions over the last dimension in which all cells of the same role are as probable.

    A role counts as often as its cells together, and as often as is `expected` of each of its cells.
    """
    totals = counts.new_zeros(int(roles.max()) + 1)
    totals.scatter_(0, roles.flatten(), expected.flatten())
    totals.index_add_(0, roles[legal], counts[legal])
    is_same = (roles[..., :, None] == roles[..., None, :]) & legal[..., None, :]
    return _normalised(torch.where(legal, totals[roles] / is_same.sum(-1).clamp(min=1), 0))
