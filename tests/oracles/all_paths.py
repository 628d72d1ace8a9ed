"""A table of the scores of all paths of one sequence, float64. Every answer is a reduction of it.

The answers are differentiable. No code is shared with the code under test.
"""

import functools
import itertools

import torch

INF = float("inf")


class AllPaths:
    """All paths through some tokens of one sequence.

    Letters: `N` tokens, `K` tags, `P` = K ** N paths.

    Args:
        scores: A batch of chains.
        row: The row of the sequence in the batch.
        tokens: Its real tokens in order. The others are absent.
    """

    def __init__(self, scores, row, tokens):
        emissions, self.transitions, self.start, self.end = (tensor.double() for tensor in scores)
        # (N, K)
        self.emissions = emissions[row, list(tokens)]
        self.num_tokens, self.num_tags = self.emissions.shape
        self.transition_count = max(self.num_tokens - 1, 0)
        # (P, N), in lexical order
        self.tags = _sequences(self.num_tokens, self.num_tags)
        #: The scores of all prefixes of each length, in lexical order, without end scores.
        self.prefix_scores = [self.emissions.new_zeros(1)]
        for t in range(self.num_tokens):
            # (prefixes, K)
            arrivals = self.transitions[self._last_tags(t)] if t else self.start.unsqueeze(0)
            extended = self.prefix_scores[-1].unsqueeze(1) + arrivals + self.emissions[t]
            self.prefix_scores.append(extended.flatten())
        # (P,)
        self.path_scores = self.prefix_scores[-1]
        if self.num_tokens:
            self.path_scores = self.path_scores + self.end[self.tags[:, -1]]

    @property
    def paths(self):
        """All paths, in lexical order."""
        return [tuple(path) for path in self.tags.tolist()]

    def step_scores(self, path):
        """The contribution of each token to the score of a path, (N,)."""
        steps = []
        for t, k in enumerate(path):
            step = self.emissions[t, k] + (self.transitions[path[t - 1], k] if t else self.start[k])
            steps.append(step + self.end[k] if t + 1 == self.num_tokens else step)
        return torch.stack(steps) if steps else self.emissions.new_zeros(0)

    def log_mass(self, allowed=None):
        """The log-sum of all paths allowed by `allowed`, (N, K) bool. `None` gives log Z."""
        return log_sum(self._within(self.path_scores, self.num_tokens, allowed))

    def log_probability(self, allowed):
        """log p(each token t has a tag of the set `allowed[t]`)."""
        return log_ratio(self.log_mass(allowed), self.log_mass())

    def step_log_normalizers(self, allowed=None):
        """log z_t of the chain restricted to `allowed`, (N,)."""
        log_sums = [
            log_sum(self._within(prefixes, length, allowed))
            for length, prefixes in enumerate(self.prefix_scores)
        ]
        log_sums[-1] = self.log_mass(allowed)
        return self._rows([log_ratio(now, before) for before, now in itertools.pairwise(log_sums)])

    def step_log_conditionals(self, allowed):
        """log p(label of t | labels before t), (N,)."""
        masses = [self.log_mass(self._up_to(t, allowed)) for t in range(self.num_tokens + 1)]
        return self._rows([log_ratio(now, before) for before, now in itertools.pairwise(masses)])

    def step_log_marginals(self, allowed):
        """log p(label of t), (N,)."""
        sets = [self._only(t, allowed) for t in range(self.num_tokens)]
        return self._rows([self.log_probability(each) for each in sets])

    def tag_marginals(self):
        """(N, K)."""
        one_hot = torch.nn.functional.one_hot(self.tags, self.num_tags).double()
        return torch.einsum("p,ptk->tk", self.probabilities(), one_hot)

    def transition_marginals(self):
        """(N - 1, K, K), or (0, K, K)."""
        one_hot = torch.nn.functional.one_hot(self.tags, self.num_tags).double()
        before, after = one_hot[:, : self.transition_count], one_hot[:, 1:]
        return torch.einsum("p,pti,ptj->tij", self.probabilities(), before, after)

    def forward_scores(self):
        """The log-sum of all prefixes ending in each tag, (N, K)."""
        return self._rows([log_sum(x.view(-1, self.num_tags), 0) for x in self.prefix_scores[1:]])

    def backward_scores(self):
        """The log-sum of all suffixes following each tag, (N, K)."""
        rows = []
        # (K, suffixes): the possible continuations of each tag.
        suffixes = self.end.unsqueeze(1)
        for t in reversed(range(self.num_tokens)):
            rows.insert(0, log_sum(suffixes))
            following = self.emissions[t].unsqueeze(1) + suffixes
            suffixes = (self.transitions.unsqueeze(2) + following).flatten(1)
        return self._rows(rows)

    def probabilities(self):
        """The probability of each path, (P,); 0 where no path is possible."""
        if bool((self.path_scores == -INF).all()):
            return torch.zeros_like(self.path_scores)
        return self.path_scores.softmax(0)

    def cross_entropy(self, student):
        """Minus the expectation of the student's log-likelihood under these paths' probabilities."""
        probabilities = self.probabilities()
        log_likelihoods = student.path_scores - student.log_mass()
        counted = torch.where(probabilities > 0, log_likelihoods, torch.zeros_like(probabilities))
        return -(probabilities * counted).sum()

    def _last_tags(self, length):
        return torch.arange(self.num_tags).repeat(self.num_tags ** (length - 1))

    def _within(self, scores, length, allowed):
        """The scores of prefixes, with -inf for those with a tag that is not allowed."""
        if allowed is None or length == 0:
            return scores
        prefixes = self.tags[:: self.num_tags ** (self.num_tokens - length), :length]
        is_inside = allowed[torch.arange(length), prefixes].all(1)
        return torch.where(is_inside, scores, torch.full_like(scores, -INF))

    def _up_to(self, t, allowed):
        return allowed | (torch.arange(self.num_tokens) >= t).unsqueeze(1)

    def _only(self, t, allowed):
        return allowed | (torch.arange(self.num_tokens) != t).unsqueeze(1)

    def _rows(self, rows):
        if rows:
            return torch.stack(rows)
        return self.emissions.new_zeros(0)


@functools.lru_cache(maxsize=256)
def _sequences(num_tokens, num_tags):
    """All sequences of tags in lexical order, (P, N) int64. Callers must not change the tensor."""
    index = torch.arange(num_tags**num_tokens)
    places = [num_tags ** (num_tokens - 1 - t) for t in range(num_tokens)]
    columns = [index // place % num_tags for place in places]
    return torch.stack(columns, 1) if columns else index.new_zeros(1, 0)


def log_sum(scores, dim=-1):
    """The log-sum-exp over `dim`, -inf without a gradient where all scores are -inf."""
    is_possible = (scores.detach() != -INF).any(dim)
    sums = torch.where(is_possible.unsqueeze(dim), scores, torch.zeros_like(scores)).logsumexp(dim)
    return torch.where(is_possible, sums, torch.full_like(sums, -INF))


def log_ratio(part, whole):
    """The difference of two logarithms, -inf without a gradient where one of them is -inf."""
    is_possible = (part != -INF) & (whole != -INF)
    return torch.where(is_possible, part - whole, torch.full_like(part, -INF))
