"""Kernels over tag marginals, their logarithms, and the derivatives of both.

`left` gets the rows without a possible path too, and those in which a gold tag's marginal underflows.

Letters: `n` is the number of real tokens of a row; see `batch` for the others and the arguments. With
`m` the messages, `f` the exponentials of the emissions and `s` the suffixes of a token's tags, and `W`
the exponentials of the transitions, all up to constants,

    m[t] = f[t] * (m[t-1] @ W),    s[t] = W @ (f[t+1] * s[t+1]),    p(y_t = k | x) = m[t, k] s[t, k].

The README derives the changes `dm` and `ds` that weights v of the marginals cause ("Gradients of
marginals").
"""

from typing import Any, NamedTuple

import numpy as np

from tagger.linear_chain.cpu.kernels.adjoints import add_outer_products
from tagger.linear_chain.cpu.kernels.batch import (
    Batch,
    new_shared_gradients,
    weigh_steps,
)
from tagger.linear_chain.cpu.kernels.messages import (
    TINY,
    Chain,
    Row,
    chain_of,
    forward_row,
    new_row,
)
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def marginal_rows(
    first: int, last: int, batch: Batch, values: np.ndarray, left: np.ndarray
) -> None:
    """Writes the tag marginals, (B, T, K)."""
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    row, changes = new_row(num_tokens, num_tags), _new_changes(num_tokens, num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        left[b] = forward_row(chain, batch.emissions[b, :n], row) < n
        if left[b]:
            continue
        _sweep_suffixes(chain, n, row, changes)
        for t in range(n):
            for k in range(num_tags):
                values[b, t, k] = row.messages[t, k] * changes.suffixes[t, k]


@kernel
def marginal_gradient_rows(
    first: int,
    last: int,
    batch: Batch,
    gold_tags: Any,
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
    left: np.ndarray,
) -> np.ndarray:
    """Differentiates the sum of `weights` times the log-marginals of gold tags, or of sets.

    Without gold tags these are the marginals of all tags; `weights` and `values` are (B, T, K) then.
    """
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    row, changes = new_row(num_tokens, num_tags), _new_changes(num_tokens, num_tags)
    steps, upstream = np.empty(num_tokens), np.empty(num_tokens)
    pairs, shared = np.zeros((num_tags, num_tags)), new_shared_gradients(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        left[b] = forward_row(chain, batch.emissions[b, :n], row) < n
        if left[b]:
            continue
        _sweep_suffixes(chain, n, row, changes)
        if weights.ndim == 3:
            _weigh_marginals(weights[b], n, row, changes)
            for t in range(n):
                for k in range(num_tags):
                    values[b, t, k] = row.messages[t, k] * changes.suffixes[t, k]
        else:
            if gold_tags.ndim == 2:
                left[b] = not _weigh_path(gold_tags[b], weights[b], n, row, changes, steps)
            else:
                left[b] = not _weigh_sets(gold_tags[b], weights[b], n, row, changes, steps)
            if left[b]:
                continue
            weigh_steps(steps[:n], weights[b], is_total, values[b], upstream)
        _sweep_suffix_changes(chain, n, changes)
        _sweep_prefix_changes(chain, n, row, changes, by_emissions[b])
        for k in range(num_tags):
            shared.start[k] += row.adjoint[0, k]
            shared.end[k] += row.adjoint[n - 1, k]
        add_outer_products(changes.prefix_changes, changes.returning, n, pairs)
        add_outer_products(row.messages, changes.returning_changes, n, pairs)
    for i in range(num_tags):
        for k in range(num_tags):
            shared.transitions[i, k] += pairs[i, k] * chain.leaving[i, k]
    return shared.flat


class _Changes(NamedTuple):
    """Scratch for one row, each (T, K)."""

    # f
    factors: np.ndarray
    # s, and ds
    suffixes: np.ndarray
    suffix_changes: np.ndarray
    # f s, and f (s v + ds)
    returning: np.ndarray
    returning_changes: np.ndarray
    # m v, and dm - E m
    weighed: np.ndarray
    prefix_changes: np.ndarray


@kernel
def _new_changes(num_tokens: int, num_tags: int) -> _Changes:
    return _Changes(
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
    )


# Whole arrays are indexed below: Numba counts references to each view of a token's row.


@kernel
def _sweep_suffixes(chain: Chain, n: int, row: Row, changes: _Changes) -> None:
    """Fills `factors`, `suffixes` and `returning` of a row that `forward_row` has filled.

    The suffixes of the last token, times its messages, are probabilities.
    """
    num_tags = len(chain.start)
    m, arriving, f, s = row.messages, row.arriving, changes.factors, changes.suffixes
    returning = changes.returning
    total = 0.0
    for k in range(num_tags):
        total += m[n - 1, k] * chain.closing[k]
    for k in range(num_tags):
        s[n - 1, k] = chain.closing[k] / total
    for t in range(n - 1, -1, -1):
        for k in range(num_tags):
            f[t, k] = 0.0 if arriving[t, k] == 0.0 else m[t, k] / arriving[t, k]
            returning[t, k] = f[t, k] * s[t, k]
        if t == 0:
            break
        for i in range(num_tags):
            total = 0.0
            for k in range(num_tags):
                total += chain.leaving[i, k] * returning[t, k]
            s[t - 1, i] = total


@kernel
def _weigh_marginals(weights: np.ndarray, n: int, row: Row, changes: _Changes) -> None:
    """Writes `m v` and `f s v` for the weights, (T, K), of the marginals of all tags."""
    for t in range(n):
        for k in range(weights.shape[1]):
            changes.weighed[t, k] = row.messages[t, k] * weights[t, k]
            changes.returning_changes[t, k] = changes.returning[t, k] * weights[t, k]


@kernel
def _weigh_path(
    path: np.ndarray, weights: np.ndarray, n: int, row: Row, changes: _Changes, steps: np.ndarray
) -> bool:
    """As `_weigh_marginals`, for the log-marginals of a path, which are written to `steps`.

    The log of a marginal `p = m s` has the weight `v = w / p`, which may overflow; `m v = w / s` and
    `f s v = w f / m` do not.

    Returns:
        Whether no marginal underflows; else it stops at the first.
    """
    m, s = row.messages, changes.suffixes
    weighed, returning_changes = changes.weighed, changes.returning_changes
    for t in range(n):
        gold = path[t]
        if m[t, gold] < TINY or s[t, gold] < TINY:
            return False
        steps[t] = np.log(m[t, gold]) + np.log(s[t, gold])
        for k in range(m.shape[1]):
            weighed[t, k] = 0.0
            returning_changes[t, k] = 0.0
        weighed[t, gold] = weights[t] / s[t, gold]
        returning_changes[t, gold] = weights[t] * changes.factors[t, gold] / m[t, gold]
    return True


@kernel
def _weigh_sets(
    allowed: np.ndarray, weights: np.ndarray, n: int, row: Row, changes: _Changes, steps: np.ndarray
) -> bool:
    """As `_weigh_path`, for sets of tags, (T, K) bool, whose marginals are summed."""
    m, s = row.messages, changes.suffixes
    for t in range(n):
        total = 0.0
        for k in range(m.shape[1]):
            total += m[t, k] * s[t, k] if allowed[t, k] else 0.0
        if total < TINY:
            return False
        steps[t] = np.log(total)
        for k in range(m.shape[1]):
            weight = weights[t] / total if allowed[t, k] else 0.0
            changes.weighed[t, k] = weight * m[t, k]
            changes.returning_changes[t, k] = weight * changes.returning[t, k]
    return True


@kernel
def _sweep_suffix_changes(chain: Chain, n: int, changes: _Changes) -> None:
    """Fills `suffix_changes`, and adds them to `returning_changes`, which hold `f s v`."""
    num_tags = len(chain.start)
    ds, f, returning_changes = changes.suffix_changes, changes.factors, changes.returning_changes
    for k in range(num_tags):
        ds[n - 1, k] = 0.0
    for t in range(n - 1, 0, -1):
        for k in range(num_tags):
            returning_changes[t, k] += f[t, k] * ds[t, k]
        for i in range(num_tags):
            change = 0.0
            for k in range(num_tags):
                change += chain.leaving[i, k] * returning_changes[t, k]
            ds[t - 1, i] = change


@kernel
def _sweep_prefix_changes(
    chain: Chain, n: int, row: Row, changes: _Changes, by_emissions: np.ndarray
) -> None:
    """Fills `prefix_changes`, and writes the derivatives by the emissions, (n, K) or longer.

    `dm - E m` obeys the recursion of `dm`.
    """
    num_tags = len(chain.start)
    m, s, f, ds = row.messages, changes.suffixes, changes.factors, changes.suffix_changes
    weighed, dm = changes.weighed, changes.prefix_changes
    expected = 0.0
    for t in range(n):
        for k in range(num_tags):
            expected += weighed[t, k] * s[t, k]
    for k in range(num_tags):
        dm[0, k] = weighed[0, k] - expected * m[0, k]
    for t in range(n):
        if t > 0:
            for k in range(num_tags):
                total = 0.0
                for i in range(num_tags):
                    total += dm[t - 1, i] * chain.entering[k, i]
                dm[t, k] = weighed[t, k] + f[t, k] * total
        for k in range(num_tags):
            row.adjoint[t, k] = dm[t, k] * s[t, k] + m[t, k] * ds[t, k]
            by_emissions[t, k] = row.adjoint[t, k]
