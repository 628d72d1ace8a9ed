"""Kernels over tag marginals, their logarithms, and the derivatives of both.

They leave two kinds of rows to the caller: rows that `forward_row` cannot compute in probability
space, and rows without a possible path. They stop at the first such row, and report it.

Letters: `n` is the number of real tokens of a row; see `batch` for `B`, `T`, `K`.
"""

from typing import NamedTuple

import numpy as np

from tagger.kernels.compilation import kernel
from tagger.linear_chain.cpu.kernels.adjoints import add_outer_products
from tagger.linear_chain.cpu.kernels.batch import (
    Batch,
    SharedGradients,
    new_shared_gradients,
)
from tagger.linear_chain.cpu.kernels.messages import (
    TINY,
    Chain,
    chain_of,
    forward_row,
    new_row,
)


class MarginalFactors(NamedTuple):
    """The factors of marginals and of their derivatives, each (B, T, K) float64.

    With `m` the messages, `f` the factors and `s` the suffixes of a token's tags, and `W` the
    exponentials of the transitions, all up to constants,

        m[t] = f[t] * (m[t-1] @ W),    s[t] = W @ (f[t+1] * s[t+1]),    p(y_t = k | x) = m[t, k] s[t, k].
    """

    messages: np.ndarray
    # the exponentials of the emissions
    emissions: np.ndarray
    suffixes: np.ndarray


@kernel
def marginal_rows(first: int, last: int, batch: Batch, factors: MarginalFactors) -> bool:
    """Writes the factors of the marginals of rows `first` to `last`.

    Args:
        first: The first row.
        last: The row after the last.
        batch: A `Batch`.
        factors: `MarginalFactors`; hold zeros.

    Returns:
        Whether all rows could be computed.
    """
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    row = new_row(num_tokens, num_tags)
    returning = np.empty(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        if forward_row(chain, batch.emissions[b, :n], row) < n:
            return False
        m, f, s = factors.messages[b], factors.emissions[b], factors.suffixes[b]
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
    batch: Batch,
    gold_tags: np.ndarray,
    factors: MarginalFactors,
    values: np.ndarray,
) -> bool:
    """Writes the log-marginals of `gold_tags`, (B, T); returns whether no factor underflows."""
    for b in range(first, last):
        for t in range(batch.lengths[b]):
            message = factors.messages[b, t, gold_tags[b, t]]
            suffix = factors.suffixes[b, t, gold_tags[b, t]]
            if not (message >= TINY and suffix >= TINY):
                return False
            values[b, t] = np.log(message) + np.log(suffix)
    return True


class _Changes(NamedTuple):
    """Scratch for one row, each (T, K). The README derives it ("Gradients of marginals")."""

    # m v, then dm - E m
    prefixes: np.ndarray
    # f s v, then f (s v + ds)
    suffixes: np.ndarray
    # f s
    returning: np.ndarray


@kernel
def marginal_gradient_rows(
    first: int,
    last: int,
    batch: Batch,
    factors: MarginalFactors,
    weights: np.ndarray,
    by_emissions: np.ndarray,
) -> np.ndarray:
    """Differentiates the sum of `weights` times the tag marginals.

    Args:
        first: The first row.
        last: The row after the last.
        batch: A `Batch`.
        factors: Written by `marginal_rows`.
        weights: (B, T, K).
        by_emissions: (B, T, K), to which the gradients by the emissions are written; holds zeros.

    Returns:
        The `flat` of `SharedGradients`.
    """
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    changes = _new_changes(num_tokens, num_tags)
    pairs, shared = np.zeros((num_tags, num_tags)), new_shared_gradients(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        m, f, s = factors.messages[b, :n], factors.emissions[b, :n], factors.suffixes[b, :n]
        expected = 0.0
        for t in range(n):
            for k in range(num_tags):
                weight = weights[b, t, k]
                changes.returning[t, k] = f[t, k] * s[t, k]
                changes.prefixes[t, k] = m[t, k] * weight
                changes.suffixes[t, k] = changes.returning[t, k] * weight
                expected += changes.prefixes[t, k] * s[t, k]
        _differentiate_row(chain, m, f, s, expected, changes, by_emissions[b], pairs, shared)
    _add_pairs(pairs, chain, shared)
    return shared.flat


@kernel
def log_marginal_gradient_rows(
    first: int,
    last: int,
    batch: Batch,
    factors: MarginalFactors,
    gold_tags: np.ndarray,
    weights: np.ndarray,
    by_emissions: np.ndarray,
) -> np.ndarray:
    """As `marginal_gradient_rows`, for the log-marginals of `gold_tags`; `weights` are (B, T)."""
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    changes = _new_changes(num_tokens, num_tags)
    pairs, shared = np.zeros((num_tags, num_tags)), new_shared_gradients(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        m, f, s = factors.messages[b, :n], factors.emissions[b, :n], factors.suffixes[b, :n]
        changes.prefixes[:n].fill(0.0)
        changes.suffixes[:n].fill(0.0)
        expected = 0.0
        for t in range(n):
            for k in range(num_tags):
                changes.returning[t, k] = f[t, k] * s[t, k]
            # The log of a marginal m s has the weight v = w / (m s), which may overflow. `m v` and
            # `f s v` do not.
            k, weight = gold_tags[b, t], weights[b, t]
            changes.prefixes[t, k] = weight / s[t, k]
            changes.suffixes[t, k] = weight * f[t, k] / m[t, k]
            expected += weight
        _differentiate_row(chain, m, f, s, expected, changes, by_emissions[b], pairs, shared)
    _add_pairs(pairs, chain, shared)
    return shared.flat


@kernel
def _new_changes(num_tokens: int, num_tags: int) -> _Changes:
    return _Changes(
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
    )


@kernel
def _differentiate_row(
    chain: Chain,
    m: np.ndarray,
    f: np.ndarray,
    s: np.ndarray,
    expected: float,
    changes: _Changes,
    by_emissions: np.ndarray,
    pairs: np.ndarray,
    shared: SharedGradients,
) -> None:
    """Differentiates a weighted sum of a row's marginals; `expected` is E, its expectation.

    Writes the derivatives by the emissions, adds those by start and end scores to `shared`, and adds to
    `pairs` what, times the exponentials of the transitions, are those by the transitions.
    """
    n, num_tags = m.shape
    prefixes, suffixes = changes.prefixes, changes.suffixes
    for t in range(1, n):
        before = prefixes[t - 1]
        for k in range(num_tags):
            total = 0.0
            for i in range(num_tags):
                total += before[i] * chain.entering[k, i]
            prefixes[t, k] += f[t, k] * total
    for t in range(n - 1, -1, -1):
        for i in range(num_tags):
            total = 0.0
            if t < n - 1:
                for k in range(num_tags):
                    total += chain.leaving[i, k] * suffixes[t + 1, k]
            suffixes[t, i] += f[t, i] * total
            prefixes[t, i] -= expected * m[t, i]
            gradient = prefixes[t, i] * s[t, i] + m[t, i] * total
            by_emissions[t, i] = gradient
            if t == 0:
                shared.start[i] += gradient
            if t == n - 1:
                shared.end[i] += gradient
    add_outer_products(prefixes, changes.returning, n, pairs)
    add_outer_products(m, suffixes, n, pairs)


@kernel
def _add_pairs(pairs: np.ndarray, chain: Chain, shared: SharedGradients) -> None:
    for i in range(len(pairs)):
        for k in range(len(pairs)):
            shared.transitions[i, k] += pairs[i, k] * chain.leaving[i, k]
