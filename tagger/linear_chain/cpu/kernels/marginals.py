"""Kernels over tag marginals, their logarithms, and the derivatives of both.

The kernels mark in `left`, (B,) bool, the rows that probability space cannot hold, those without a
possible path and those in which a gold tag's marginal underflows, and leave them to `log_rows`.

Letters: `n` is the number of real tokens of a row; see `batch` for `B`, `T`, `K`. With `m` the
messages, `f` the exponentials of the emissions and `s` the suffixes of a token's tags, and `W` the
exponentials of the transitions, all up to constants,

    m[t] = f[t] * (m[t-1] @ W),    s[t] = W @ (f[t+1] * s[t+1]),    p(y_t = k | x) = m[t, k] s[t, k].

The README derives the changes `dm` and `ds` that weights v of the marginals cause ("Gradients of
marginals").
"""

from typing import Any, NamedTuple, Optional

import numpy as np

from tagger.kernels.compilation import kernel
from tagger.linear_chain.cpu.kernels.adjoints import add_outer_products
from tagger.linear_chain.cpu.kernels.batch import Batch, new_shared_gradients, weigh_steps
from tagger.linear_chain.cpu.kernels.messages import (
    TINY,
    Chain,
    Row,
    chain_of,
    forward_row,
    new_row,
)


@kernel
def marginal_rows(
    first: int, last: int, batch: Batch, values: np.ndarray, left: np.ndarray
) -> None:
    """Writes the tag marginals of rows `first` to `last`.

    Args:
        first: The first row.
        last: The row after the last.
        batch: A `Batch`.
        values: (B, T, K); holds zeros.
        left: (B,) bool, as above; holds false.
    """
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
    gold_tags: Optional[np.ndarray],
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
    left: np.ndarray,
) -> np.ndarray:
    """Differentiates the sum of `weights` times the tag marginals, or the log-marginals of gold tags.

    Args:
        first: The first row.
        last: The row after the last.
        batch: A `Batch`.
        gold_tags: (B, T) int64, or (B, T, K) bool for the log-probabilities of sets; `None` for the
            marginals of all tags.
        weights: (B, T), or (B, T, K) for the marginals of all tags.
        is_total: Whether to write the weighted sum for each row instead of one value for each token.
        values: (B, T), or with `is_total` (B, 1), or (B, T, K) for the marginals of all tags; holds
            zeros.
        by_emissions: (B, T, K), to which the gradients by the emissions are written; holds zeros.
        left: (B,) bool, as above; holds false.

    Returns:
        The `flat` of `SharedGradients`.
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
        if not left[b]:
            left[b] = not _sweep_changed_suffixes(
                chain, gold_tags, weights, b, n, row, changes, steps
            )
        if left[b]:
            continue
        if weights.ndim == 2:
            weigh_steps(steps[:n], weights[b], is_total, values[b], upstream)
        else:
            for t in range(n):
                for k in range(num_tags):
                    values[b, t, k] = row.messages[t, k] * changes.suffixes[t, k]
        _sweep_changed_prefixes(chain, n, row, changes, by_emissions[b])
        for k in range(num_tags):
            shared.start[k] += row.adjoint[0, k]
            shared.end[k] += row.adjoint[n - 1, k]
        add_outer_products(changes.prefixes, changes.returning, n, pairs)
        add_outer_products(row.messages, changes.returning_changed, n, pairs)
    for i in range(num_tags):
        for k in range(num_tags):
            shared.transitions[i, k] += pairs[i, k] * chain.leaving[i, k]
    return shared.flat


class _Changes(NamedTuple):
    """Scratch for one row, each (T, K)."""

    # s
    suffixes: np.ndarray
    # f s
    returning: np.ndarray
    # f (s v + ds)
    returning_changed: np.ndarray
    # m v, then dm - E m
    prefixes: np.ndarray


@kernel
def _new_changes(num_tokens: int, num_tags: int) -> _Changes:
    return _Changes(
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
    )


@kernel
def _open_suffixes(chain: Chain, n: int, row: Row, suffixes: np.ndarray) -> None:
    """Writes the suffixes of the last token, (K,), so that times its messages they are probabilities."""
    total = 0.0
    for k in range(len(suffixes)):
        total += row.messages[n - 1, k] * chain.closing[k]
    for k in range(len(suffixes)):
        suffixes[k] = chain.closing[k] / total


@kernel
def _sweep_suffixes(chain: Chain, n: int, row: Row, changes: _Changes) -> None:
    """Fills `changes.suffixes` of a row that `forward_row` has filled."""
    num_tags = len(chain.start)
    _open_suffixes(chain, n, row, changes.suffixes[n - 1])
    for t in range(n - 1, 0, -1):
        m, arriving, s = row.messages[t], row.arriving[t], changes.suffixes[t]
        returning, before = changes.returning[t], changes.suffixes[t - 1]
        for k in range(num_tags):
            returning[k] = 0.0 if arriving[k] == 0.0 else m[k] / arriving[k] * s[k]
        for i in range(num_tags):
            total = 0.0
            for k in range(num_tags):
                total += chain.leaving[i, k] * returning[k]
            before[i] = total


@kernel
def _sweep_changed_suffixes(
    chain: Chain,
    gold_tags: Any,
    weights: np.ndarray,
    b: int,
    n: int,
    row: Row,
    changes: _Changes,
    steps: np.ndarray,
) -> bool:
    """Goes through row `b` from its end, with suffixes and changed suffixes at once.

    Args:
        chain: A `Chain`.
        gold_tags: As for `marginal_gradient_rows`.
        weights: As for `marginal_gradient_rows`.
        b: The row.
        n: Its length.
        row: Filled by `forward_row`. Afterwards `arriving` holds `f`, and `adjoint` holds `m ds`.
        changes: Filled; `prefixes` with `m v`.
        steps: The log-marginals of `gold_tags` are written to it.

    Returns:
        Whether no gold tag's marginal underflows; else it stops at the first.
    """
    num_tags = len(chain.start)
    _open_suffixes(chain, n, row, changes.suffixes[n - 1])
    m, f, s = row.messages, row.arriving, changes.suffixes
    returning, changed, prefixes = changes.returning, changes.returning_changed, changes.prefixes
    ds = np.zeros(num_tags)
    for t in range(n - 1, -1, -1):
        for k in range(num_tags):
            f[t, k] = 0.0 if f[t, k] == 0.0 else m[t, k] / f[t, k]
            returning[t, k] = f[t, k] * s[t, k]
            changed[t, k] = f[t, k] * ds[k]
            row.adjoint[t, k] = m[t, k] * ds[k]
            prefixes[t, k] = 0.0
        # The log of a marginal p = m s has the weight v = w / p, which may overflow. `m v` and `f s v`
        # do not.
        if weights.ndim == 3:
            for k in range(num_tags):
                prefixes[t, k] = m[t, k] * weights[b, t, k]
                changed[t, k] += returning[t, k] * weights[b, t, k]
        elif gold_tags.ndim == 2:
            gold = gold_tags[b, t]
            if m[t, gold] < TINY or s[t, gold] < TINY:
                return False
            steps[t] = np.log(m[t, gold]) + np.log(s[t, gold])
            prefixes[t, gold] = weights[b, t] / s[t, gold]
            changed[t, gold] += weights[b, t] * f[t, gold] / m[t, gold]
        else:
            total = 0.0
            for k in range(num_tags):
                total += m[t, k] * s[t, k] if gold_tags[b, t, k] else 0.0
            if total < TINY:
                return False
            steps[t] = np.log(total)
            for k in range(num_tags):
                if gold_tags[b, t, k]:
                    prefixes[t, k] = weights[b, t] * m[t, k] / total
                    changed[t, k] += weights[b, t] * returning[t, k] / total
        if t == 0:
            break
        for i in range(num_tags):
            total, change = 0.0, 0.0
            for k in range(num_tags):
                total += chain.leaving[i, k] * returning[t, k]
                change += chain.leaving[i, k] * changed[t, k]
            s[t - 1, i] = total
            ds[i] = change
    return True


@kernel
def _sweep_changed_prefixes(
    chain: Chain, n: int, row: Row, changes: _Changes, by_emissions: np.ndarray
) -> None:
    """Goes on from `_sweep_changed_suffixes` through the row from its start.

    `changes.prefixes` becomes `dm - E m`, which obeys the recursion of `dm`. `row.adjoint` becomes the
    derivatives by the emissions, which are also written to `by_emissions`, (n, K) or longer.
    """
    num_tags = len(chain.start)
    expected = 0.0
    for t in range(n):
        for k in range(num_tags):
            expected += changes.prefixes[t, k] * changes.suffixes[t, k]
    for k in range(num_tags):
        changes.prefixes[0, k] -= expected * row.messages[0, k]
    prefixes, s = changes.prefixes, changes.suffixes
    for t in range(n):
        if t > 0:
            for k in range(num_tags):
                total = 0.0
                for i in range(num_tags):
                    total += prefixes[t - 1, i] * chain.entering[k, i]
                prefixes[t, k] += row.arriving[t, k] * total
        for k in range(num_tags):
            row.adjoint[t, k] += prefixes[t, k] * s[t, k]
            by_emissions[t, k] = row.adjoint[t, k]
