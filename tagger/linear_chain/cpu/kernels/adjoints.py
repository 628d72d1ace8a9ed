"""The adjoint of a row's forward recursion.

It needs forward messages only. With `L` the quantity to be differentiated, `F_t` the log partition
function of the prefix up to token t, and `p(i | j)` the probability that tag i precedes tag j, given
the prefix and j,

    dL / de[t, j] = (dL / dF_t) p(y_t = j | prefix) + sum_k (dL / de[t+1, k]) p(j | k).

The factors are probabilities, so that nothing can overflow, and for L = log Z the recursion yields the
tag marginals.

Letters: `n` the real tokens of a row; see the package for `B`, `T`, `K`.
"""

import numpy as np

from tagger.kernels.compilation import kernel
from tagger.linear_chain.cpu.kernels.messages import Chain, Row


@kernel
def adjoint_row(
    chain: Chain,
    reached: int,
    upstream: np.ndarray,
    path: np.ndarray,
    row: Row,
    pairs: np.ndarray,
) -> None:
    """Differentiates `sum_t upstream[t] log_normalizers[t]`.

    With a `path`, differentiates the sum of `upstream[t] log p(y_t | y_{t+1}, prefix)` instead, less
    what the transitions on the path add by themselves. There y_t draws its own weight, and takes from
    y_{t+1} what that had in the sum which it is a share of.

    Args:
        chain: a `Chain`.
        reached: how many tokens are reached by a path.
        upstream: (n,).
        path: (n,) int64, or empty.
        row: a `Row` filled by `forward_row`. Afterwards `adjoint` holds the derivatives by the
            emissions, and `arriving` what they send back.
        pairs: (K, K); adds what is, times `leaving`, the derivatives by the transitions.
    """
    num_tags = len(chain.start)
    has_path = len(path) > 0
    last = reached - 1
    for k in range(num_tags):
        row.adjoint[last, k] *= -upstream[last] if has_path else upstream[last]
    if has_path:
        row.adjoint[last, path[last]] += upstream[last]
    for t in range(last, 0, -1):
        adjoint, returning = row.adjoint[t], row.arriving[t]
        taken = adjoint[path[t]] if has_path else 0.0
        if has_path:
            adjoint[path[t]] -= upstream[t - 1]
        for k in range(num_tags):
            returning[k] = 0.0 if returning[k] == 0.0 else adjoint[k] / returning[k]
        change = 0.0 if has_path else upstream[t - 1] - upstream[t]
        for i in range(num_tags):
            total = change
            for k in range(num_tags):
                total += chain.leaving[i, k] * returning[k]
            row.adjoint[t - 1, i] = row.messages[t - 1, i] * total
        if has_path:
            adjoint[path[t]] = taken
            row.adjoint[t - 1, path[t - 1]] += upstream[t - 1]
    add_outer_products(row.messages, row.arriving, reached, pairs)


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
    chain: Chain, reached: int, upstream: np.ndarray, row: Row, transition_gradients: np.ndarray
) -> None:
    """As `adjoint_row`, but leaves `arriving`, and adds to the derivatives by the transitions."""
    num_tags = len(chain.start)
    for k in range(num_tags):
        row.adjoint[reached - 1, k] *= upstream[reached - 1]
    for t in range(reached - 1, 0, -1):
        change = upstream[t - 1] - upstream[t]
        for k in range(num_tags):
            row.adjoint[t - 1, k] = change * np.exp(row.messages[t - 1, k])
        for k in range(num_tags):
            if row.adjoint[t, k] == 0.0:
                continue
            for i in range(num_tags):
                step = chain.transitions[i, k] - row.arriving[t, k]
                share = row.adjoint[t, k] * np.exp(row.messages[t - 1, i] + step)
                row.adjoint[t - 1, i] += share
                transition_gradients[i, k] += share
