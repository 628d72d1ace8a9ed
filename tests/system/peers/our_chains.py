"""A pytest plugin that runs torch-struct's own tests on our linear chains.

torch-struct's chains have a score for each transition of each step. One of our tags is a pair of two of
theirs, and a pair may only follow one that ends where it begins.
"""

import torch
from torch.nn.functional import one_hot
from torch_struct import LinearChain, LogSemiring, MaxSemiring

from tagger.linear_chain import ChainScores, k_best_decode, log_partition, tag_marginals

_sum, _marginals = LinearChain.sum, LinearChain.marginals


def chain_of_pairs(potentials, lengths):
    """The scores and the mask of potentials, (B, N - 1, C, C), for the next and the previous tag."""
    batch, steps, num_tags, _ = potentials.shape
    if lengths is None:
        lengths = torch.full((batch,), steps + 1)
    pairs = torch.arange(num_tags**2)
    follows = (pairs // num_tags).unsqueeze(1) == pairs % num_tags
    ends = potentials.new_zeros(num_tags**2)
    transitions = potentials.new_zeros(follows.shape).masked_fill(~follows, -torch.inf)
    mask = torch.arange(steps) < (lengths - 1).unsqueeze(1)
    return ChainScores(potentials.reshape(batch, steps, -1), transitions, ends, ends), mask


def num_best(semiring):
    """How many best sequences a semiring keeps, or `None` if it does not maximise."""
    if semiring is MaxSemiring:
        return 1
    return semiring.size() if semiring.__name__ == "KMaxSemiring" else None


def sum_of_ours(self, logpotentials, lengths=None, _raw=False):
    if self.semiring is LogSemiring:
        return log_partition(*chain_of_pairs(logpotentials, lengths))
    k = num_best(self.semiring)
    if k is None:
        return _sum(self, logpotentials, lengths, _raw)
    _, scores = k_best_decode(*chain_of_pairs(logpotentials, lengths), k)
    return scores.T if _raw else scores[:, 0]


def marginals_of_ours(self, logpotentials, lengths=None, _raw=False):
    shape = logpotentials.shape
    if self.semiring is LogSemiring:
        return tag_marginals(*chain_of_pairs(logpotentials, lengths)).reshape(shape)
    k = num_best(self.semiring)
    if k is None:
        return _marginals(self, logpotentials, lengths, _raw)
    scores, mask = chain_of_pairs(logpotentials, lengths)
    paths, _ = k_best_decode(scores, mask, k)
    # (k, B, N - 1, C * C).
    parts = one_hot(paths.transpose(0, 1), shape[-1] ** 2) * mask.unsqueeze(-1)
    parts = parts.to(logpotentials.dtype).reshape(k, *shape)
    return parts if _raw else parts[0]


LinearChain.sum, LinearChain.marginals = sum_of_ours, marginals_of_ours
