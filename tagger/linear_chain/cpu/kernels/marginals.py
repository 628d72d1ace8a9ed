"""Kernels over tag marginals, their logarithms, and the derivatives of both.

Rows that `forward_row` cannot compute in probability space, and rows without a possible path, are left
to the caller: a kernel that meets one returns at once, and says so.

Letters: `n` the real tokens of a row; see the package for `B`, `T`, `K`.
"""

from typing import Tuple

import numpy as np

from tagger.kernels.compilation import kernel
from tagger.linear_chain.cpu.kernels.adjoints import add_outer_products
from tagger.linear_chain.cpu.kernels.messages import (
    TINY,
    forward_row,
    new_chain,
    new_row,
    shifted_exponentials,
)


@kernel
def marginal_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    messages: np.ndarray,
    factors: np.ndarray,
    suffixes: np.ndarray,
) -> bool:
    """Writes what marginals, and their derivatives, are made of.

    With `m` the messages, `f` the factors and `s` the suffixes, of tokens and tags, and `W` the
    exponentials of the transitions, all up to constants,

        m[t] = f[t] * (m[t-1] @ W),    s[t] = W @ (f[t+1] * s[t+1]),    p(y_t = k | x) = m[t, k] s[t, k].

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        emissions: (B, T, K).
        transitions: (K, K).
        start: (K,).
        end: (K,).
        messages: (B, T, K) float64; holds zeros, as do the others.
        factors: (B, T, K) float64, the exponentials of the emissions.
        suffixes: (B, T, K) float64.

    Returns:
        Whether all rows could be computed.
    """
    num_tags = emissions.shape[2]
    chain = new_chain(transitions, start, end)
    row = new_row(emissions.shape[1], num_tags)
    returning = np.empty(num_tags)
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            continue
        if forward_row(chain, emissions[b, :n], row) < n:
            return False
        m, f, s = messages[b], factors[b], suffixes[b]
        total = 0.0
        for k in range(num_tags):
            total += row.messages[n - 1, k] * chain.closing[k]
        for k in range(num_tags):
            s[n - 1, k] = chain.closing[k] / total
        for t in range(n - 1, -1, -1):
            for k in range(num_tags):
                arriving = row.arriving[t, k]
                m[t, k] = row.messages[t, k]
                f[t, k] = 0.0 if arriving == 0.0 else row.messages[t, k] / arriving
                returning[k] = f[t, k] * s[t, k]
            if t == 0:
                break
            for i in range(num_tags):
                total = 0.0
                for k in range(num_tags):
                    total += chain.leaving[i, k] * returning[k]
                s[t - 1, i] = total
    return True


@kernel
def log_marginal_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    tags: np.ndarray,
    messages: np.ndarray,
    suffixes: np.ndarray,
    values: np.ndarray,
) -> bool:
    """Writes log p(y_t | x) into `values`, (B, T); returns whether no marginal underflows."""
    for b in range(first, last):
        for t in range(lengths[b]):
            message, suffix = messages[b, t, tags[b, t]], suffixes[b, t, tags[b, t]]
            if not (message >= TINY and suffix >= TINY):
                return False
            values[b, t] = np.log(message) + np.log(suffix)
    return True


@kernel
def marginal_gradient_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    transitions: np.ndarray,
    messages: np.ndarray,
    factors: np.ndarray,
    suffixes: np.ndarray,
    tags: np.ndarray,
    weights: np.ndarray,
    gradients: np.ndarray,
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differentiates a weighted sum of tag marginals, or of the logarithms of some.

    By the product rule, with `dm` and `ds` the change that weights `v` bring to what `marginal_rows`
    writes,

        dm[t] = m[t] v[t] + f[t] * (dm[t-1] @ W),    ds[t] = W @ (f[t+1] * (s[t+1] v[t+1] + ds[t+1])),

    the derivative by an emission is `dm s + m ds - E m s`: the expectation of the path's summed
    weights where it passes through the tag, less that of all paths, E, times the tag's marginal.

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        transitions: (K, K).
        messages: (B, T, K), as the next two from `marginal_rows`.
        factors: (B, T, K).
        suffixes: (B, T, K).
        tags: (B, T) int64 for the logarithms of the marginals of these; or (B, 0).
        weights: (B, T, 1) with `tags`, else (B, T, K).
        gradients: (B, T, K), zeros into which the gradients by the emissions are written.

    Returns:
        The float64 gradients by transitions, start and end.
    """
    num_tokens, num_tags = messages.shape[1:]
    leaving, _ = shifted_exponentials(transitions)
    entering = leaving.T.copy()
    # m v, then dm - E m; and f s
    prefix_changes, returning = np.empty((num_tokens, num_tags)), np.empty((num_tokens, num_tags))
    # f s v, then f (s v + ds)
    suffix_changes = np.empty((num_tokens, num_tags))
    pairs = np.zeros((num_tags, num_tags))
    by_start, by_end = np.zeros(num_tags), np.zeros(num_tags)
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            continue
        m, f, s = messages[b], factors[b], suffixes[b]
        expected = _weigh_marginals(
            m[:n], f, s, tags[b], weights[b], prefix_changes, suffix_changes, returning
        )
        for t in range(1, n):
            before = prefix_changes[t - 1]
            for k in range(num_tags):
                total = 0.0
                for i in range(num_tags):
                    total += before[i] * entering[k, i]
                prefix_changes[t, k] += f[t, k] * total
        for t in range(n - 1, -1, -1):
            for i in range(num_tags):
                total = 0.0
                if t < n - 1:
                    for k in range(num_tags):
                        total += leaving[i, k] * suffix_changes[t + 1, k]
                suffix_changes[t, i] += f[t, i] * total
                prefix_changes[t, i] -= expected * m[t, i]
                gradient = prefix_changes[t, i] * s[t, i] + m[t, i] * total
                gradients[b, t, i] = gradient
                if t == 0:
                    by_start[i] += gradient
                if t == n - 1:
                    by_end[i] += gradient
        add_outer_products(prefix_changes, returning, n, pairs)
        add_outer_products(m, suffix_changes, n, pairs)
    return pairs * leaving, by_start, by_end


@kernel
def _weigh_marginals(
    m: np.ndarray,
    f: np.ndarray,
    s: np.ndarray,
    tags: np.ndarray,
    weights: np.ndarray,
    prefix_changes: np.ndarray,
    suffix_changes: np.ndarray,
    returning: np.ndarray,
) -> float:
    """Writes `m v`, `f s v` and `f s`; returns the weighted sum, the expectation of the weights.

    To the logarithm of a marginal m s belongs the weight v = w / (m s), which may overflow where the
    products do not.
    """
    expected = 0.0
    for t in range(len(m)):
        for k in range(m.shape[1]):
            returning[t, k] = f[t, k] * s[t, k]
            if len(tags):
                prefix_changes[t, k] = 0.0
                suffix_changes[t, k] = 0.0
            else:
                prefix_changes[t, k] = m[t, k] * weights[t, k]
                suffix_changes[t, k] = returning[t, k] * weights[t, k]
                expected += prefix_changes[t, k] * s[t, k]
        if len(tags):
            k, weight = tags[t], weights[t, 0]
            prefix_changes[t, k] = weight / s[t, k]
            suffix_changes[t, k] = weight * f[t, k] / m[t, k]
            expected += weight
    return expected
