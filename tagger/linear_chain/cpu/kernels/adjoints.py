"""The adjoint of a row's forward recursion, which needs forward messages only.

The README derives it ("Gradients"). Its factors are probabilities, so nothing overflows.

Letters: `n` is the number of real tokens of a row; see `batch` for `B`, `T`, `K`.
"""

from typing import Optional

import numpy as np

from tagger.linear_chain.cpu.kernels.messages import RowScratch, SharedScores, log_before
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def adjoint_row(
    chain: SharedScores,
    reached: int,
    in_log_space: bool,
    upstream: np.ndarray,
    by_arriving: Optional[np.ndarray],
    row: RowScratch,
    pairs: np.ndarray,
    by_transitions: np.ndarray,
) -> None:
    """Differentiates `sum_t upstream[t] log_normalizers[t] + sum_tk by_arriving[t, k] R[t, k]`.

    `R` is the sum that arrives at a tag, without its emission. `solve_row` must have filled the row; it
    also returns `reached`, which must be at least 1, and `in_log_space`.

    - `upstream`, (n,), and `by_arriving`, (n, K) or longer (`None` for zeros), are weights.
    - `row.adjoint` gets the derivatives with respect to the emissions. In probability space,
      `row.arriving` gets those with respect to its old contents.
    - `pairs`, (K, K), gets sums added that, times `leaving`, are the derivatives with respect to the
      transitions. In log space, these are added to `by_transitions`, (K, K), instead.
    """
    for k in range(len(chain.start)):
        row.adjoint[reached - 1, k] *= upstream[reached - 1]
    if in_log_space:
        _adjoint_in_log_space(chain, reached, upstream, by_arriving, row, by_transitions)
    else:
        _adjoint(chain, reached, upstream, by_arriving, row)
        _add_outer_products(row.messages, row.arriving, reached, pairs)
    row.adjoint[reached : len(upstream)].fill(0.0)


@kernel
def _adjoint(
    chain: SharedScores,
    reached: int,
    upstream: np.ndarray,
    by_arriving: Optional[np.ndarray],
    row: RowScratch,
) -> None:
    num_tags = len(chain.start)
    for t in range(reached - 1, 0, -1):
        adjoint, returning = row.adjoint[t], row.arriving[t]
        for k in range(num_tags):
            total = adjoint[k] if by_arriving is None else adjoint[k] + by_arriving[t, k]
            returning[k] = 0.0 if returning[k] == 0.0 else total / returning[k]
        change = upstream[t - 1] - upstream[t]
        for i in range(num_tags):
            total = change
            for k in range(num_tags):
                total += chain.leaving[i, k] * returning[k]
            row.adjoint[t - 1, i] = row.messages[t - 1, i] * total


@kernel
def _add_outer_products(
    before: np.ndarray, after: np.ndarray, num_tokens: int, pairs: np.ndarray
) -> None:
    """Adds `sum_t before[t - 1, i] after[t, j]` to `pairs[i, j]`."""
    num_tags = len(pairs)
    # Four tokens at a time, to read and write the sums less often.
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
def _adjoint_in_log_space(
    chain: SharedScores,
    reached: int,
    upstream: np.ndarray,
    by_arriving: Optional[np.ndarray],
    row: RowScratch,
    by_transitions: np.ndarray,
) -> None:
    num_tags = len(chain.start)
    before = np.empty(num_tags)
    for t in range(reached - 1, 0, -1):
        change = upstream[t - 1] - upstream[t]
        for k in range(num_tags):
            row.adjoint[t - 1, k] = change * np.exp(row.messages[t - 1, k])
        for k in range(num_tags):
            total = row.adjoint[t, k]
            if by_arriving is not None:
                total += by_arriving[t, k]
            if total == 0.0:
                continue
            log_before(chain, row, t, k, before)
            for i in range(num_tags):
                part = total * np.exp(before[i])
                row.adjoint[t - 1, i] += part
                by_transitions[i, k] += part
