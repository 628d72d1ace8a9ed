"""The adjoints of a row's forward recursion, which need forward messages only.

The README derives them ("Gradients"). Their factors are probabilities, so that nothing overflows.

Letters: `n` is the number of real tokens of a row; see `batch` for `B`, `T`, `K`.
"""

import numpy as np

from tagger.linear_chain.cpu.kernels.batch import SharedGradients
from tagger.linear_chain.cpu.kernels.messages import Chain, Row, shares_before
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def adjoint_row(
    chain: Chain, reached: int, upstream: np.ndarray, row: Row, pairs: np.ndarray
) -> None:
    """Differentiates `sum_t upstream[t] log_normalizers[t]` of a row in probability space.

    Args:
        chain: A `Chain`.
        reached: How many tokens a path reaches, from `forward_row`; at least 1.
        upstream: (n,).
        row: A `Row` filled by `forward_row`. Afterwards `adjoint` holds the derivatives by the
            emissions, and `arriving` holds the adjoint divided by what it held before.
        pairs: (K, K); times `leaving` they are the derivatives by the transitions. Sums are added here.
    """
    num_tags = len(chain.start)
    for k in range(num_tags):
        row.adjoint[reached - 1, k] *= upstream[reached - 1]
    for t in range(reached - 1, 0, -1):
        adjoint, returning = row.adjoint[t], row.arriving[t]
        for k in range(num_tags):
            returning[k] = 0.0 if returning[k] == 0.0 else adjoint[k] / returning[k]
        change = upstream[t - 1] - upstream[t]
        # Written out in both adjoints: a function called for each token would take half of their time.
        for i in range(num_tags):
            total = change
            for k in range(num_tags):
                total += chain.leaving[i, k] * returning[k]
            row.adjoint[t - 1, i] = row.messages[t - 1, i] * total
    add_outer_products(row.messages, row.arriving, reached, pairs)


@kernel
def add_adjoint(
    n: int, reached: int, row: Row, shared: SharedGradients, by_emissions: np.ndarray
) -> None:
    """Adds a row's adjoint to the derivatives by its emissions, (n, K) or longer, start and end."""
    num_tags = len(shared.start)
    for t in range(reached):
        for k in range(num_tags):
            by_emissions[t, k] += row.adjoint[t, k]
    for k in range(num_tags):
        shared.start[k] += row.adjoint[0, k]
        if reached == n:
            shared.end[k] += row.adjoint[n - 1, k]


@kernel
def conditional_adjoint_row(
    chain: Chain, upstream: np.ndarray, path: np.ndarray, row: Row, pairs: np.ndarray
) -> None:
    """Differentiates `sum_t upstream[t] log p(path[t] | path[t + 1], prefix)`.

    The last token's term is the log-probability of `path[n - 1]` given the row. The derivatives do not
    contain what the transitions on the path add directly.

    Args:
        chain: A `Chain`.
        upstream: (n,).
        path: (n,) int64.
        row: A `Row` filled by `forward_row`, all of whose tokens a path reaches. Afterwards `adjoint`
            holds the derivatives by the emissions.
        pairs: As for `adjoint_row`.
    """
    num_tags, last = len(chain.start), len(path) - 1
    for k in range(num_tags):
        row.adjoint[last, k] *= -upstream[last]
    row.adjoint[last, path[last]] += upstream[last]
    for t in range(last, 0, -1):
        adjoint, returning = row.adjoint[t], row.arriving[t]
        # What arrives at the path's tag is the denominator of the term of the token before.
        by_emission = adjoint[path[t]]
        adjoint[path[t]] -= upstream[t - 1]
        for k in range(num_tags):
            returning[k] = 0.0 if returning[k] == 0.0 else adjoint[k] / returning[k]
        for i in range(num_tags):
            total = 0.0
            for k in range(num_tags):
                total += chain.leaving[i, k] * returning[k]
            row.adjoint[t - 1, i] = row.messages[t - 1, i] * total
        adjoint[path[t]] = by_emission
        row.adjoint[t - 1, path[t - 1]] += upstream[t - 1]
    add_outer_products(row.messages, row.arriving, len(path), pairs)


@kernel
def add_outer_products(
    before: np.ndarray, after: np.ndarray, num_tokens: int, pairs: np.ndarray
) -> None:
    """Adds `sum_t before[t - 1, i] after[t, j]` to `pairs[i, j]`."""
    num_tags = len(pairs)
    # Four tokens at a time, because the sums stay in memory.
    for t in range(1, num_tokens - 3, 4):
        for i in range(num_tags):
            b0, b1, b2, b3 = before[t - 1, i], before[t, i], before[t + 1, i], before[t + 2, i]
            for j in range(num_tags):
                pairs[i, j] += (b0 * after[t, j] + b1 * after[t + 1, j]) + (
                    b2 * after[t + 2, j] + b3 * after[t + 3, j]
                )
    for t in range(num_tokens - (num_tokens - 1) % 4, num_tokens):
        for i in range(num_tags):
            for j in range(num_tags):
                pairs[i, j] += before[t - 1, i] * after[t, j]


@kernel
def adjoint_row_in_log_space(
    chain: Chain, reached: int, upstream: np.ndarray, row: Row, by_transitions: np.ndarray
) -> None:
    """As `adjoint_row`, for a row filled by `forward_row_in_log_space`.

    The derivatives by the transitions are added to `by_transitions`, (K, K).
    """
    num_tags = len(chain.start)
    shares = np.empty(num_tags)
    for k in range(num_tags):
        row.adjoint[reached - 1, k] *= upstream[reached - 1]
    for t in range(reached - 1, 0, -1):
        change = upstream[t - 1] - upstream[t]
        for k in range(num_tags):
            row.adjoint[t - 1, k] = change * np.exp(row.messages[t - 1, k])
        for k in range(num_tags):
            if row.adjoint[t, k] == 0.0:
                continue
            shares_before(chain, row, t, k, shares)
            for i in range(num_tags):
                share = row.adjoint[t, k] * shares[i]
                row.adjoint[t - 1, i] += share
                by_transitions[i, k] += share
