"""Kernels over the sum of all paths: the forward recursion of a row, and its adjoint.

Everything is float64 inside, whatever the type of the scores. Messages are probabilities, normalised
at every token, with the largest score of each token and of the transitions taken out. That is exact
as long as no message underflows: a tag may be improbable by 250 orders of magnitude and yet lead to
the only likely path. A row in which one does is computed again in log space, slowly.

The adjoint needs forward messages only. With `L` the quantity to be differentiated, `F_t` the log
partition function of the prefix up to token t, and `p(i | j)` the probability that tag i precedes tag
j, given the prefix and j,

    dL / de[t, j] = (dL / dF_t) p(y_t = j | prefix) + sum_k (dL / de[t+1, k]) p(j | k).

The factors are probabilities, so that nothing can overflow, and for L = log Z the recursion yields the
tag marginals.

Letters: `n` the real tokens of a row; see the package for `B`, `T`, `K`.
"""

from typing import Any, Callable, NamedTuple, Tuple

import numba.types
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from tagger.linear_chain.cpu.compilation import kernel

# Messages below this are taken for underflow. A product of such a message and a transition that
# underflows is smaller by 1e-58 than any that counts.
_TINY = 1e-250
_LOG2_E = 1.4426950408889634
# Adding it to a float64 leaves the nearest integer in the low bits.
_ROUNDER = 6755399441055744.0
# log 2 in two parts, the first of few enough bits to be multiplied by any exponent exactly
_LOG_2_HIGH = 6.93147180369123816490e-01
_LOG_2_LOW = 1.90821492927058770002e-10


@intrinsic
def _as_int(typing_context: Any, value: Any) -> Tuple[Any, Callable]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return numba.types.int64(numba.types.float64), generate


@intrinsic
def _as_float(typing_context: Any, value: Any) -> Tuple[Any, Callable]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return numba.types.float64(numba.types.int64), generate


def _exp(x: float) -> float:
    """e^x for x <= 0 to one unit in the last place; unlike `np.exp`, loops over it are vectorised."""
    rounded = x * _LOG2_E + _ROUNDER
    exponent = rounded - _ROUNDER
    rest = (x - exponent * _LOG_2_HIGH) - exponent * _LOG_2_LOW
    power = 1.0 / 479001600
    power = power * rest + 1.0 / 39916800
    power = power * rest + 1.0 / 3628800
    power = power * rest + 1.0 / 362880
    power = power * rest + 1.0 / 40320
    power = power * rest + 1.0 / 5040
    power = power * rest + 1.0 / 720
    power = power * rest + 1.0 / 120
    power = power * rest + 1.0 / 24
    power = power * rest + 1.0 / 6
    power = power * rest + 0.5
    power = power * rest + 1.0
    power = power * rest + 1.0
    result = power * _as_float((_as_int(rounded) + 1023) << 52)  # type: ignore[call-arg]
    return 0.0 if x < -708.0 else result


# The rounding must happen as written.
_exp = kernel(_exp, may_reorder=False)


@kernel
def _log_sum(scores: np.ndarray) -> float:
    """The log-sum of a vector, -inf where all of it is -inf."""
    peak = scores.max()
    if peak == -np.inf:
        return peak
    total = 0.0
    for k in range(len(scores)):
        total += np.exp(scores[k] - peak)
    return peak + np.log(total)


class _Chain(NamedTuple):
    """The scores that all tokens share, as float64 log-scores and as probabilities up to a factor."""

    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray
    # exp(transitions - transition_peak), and its transpose
    leaving: np.ndarray
    entering: np.ndarray
    transition_peak: float
    # exp(end - end_peak)
    closing: np.ndarray
    end_peak: float


class _Row(NamedTuple):
    """Scratch for one row, each (T, K) but the last, (T,).

    `arriving` holds what the tags of the token before send, before the emission; `messages` the
    distribution of the tag given the prefix; `adjoint` the derivative by the emission. The first two
    are logarithms where a row is computed in log space.
    """

    arriving: np.ndarray
    messages: np.ndarray
    adjoint: np.ndarray
    log_normalizers: np.ndarray


@kernel
def _peak(scores: np.ndarray) -> float:
    """The largest of a vector, or 0 where all are -inf; written for speed, `max` is slower."""
    even, odd = -np.inf, -np.inf
    for k in range(0, len(scores) - 1, 2):
        even = scores[k] if scores[k] > even else even
        odd = scores[k + 1] if scores[k + 1] > odd else odd
    peak = max(even, odd, scores[-1])
    return peak if peak > -np.inf else 0.0


@kernel
def _chain(transitions: np.ndarray, start: np.ndarray, end: np.ndarray) -> _Chain:
    num_tags = len(start)
    transition_peak = _peak(transitions.ravel())
    end_peak = _peak(end)
    leaving = np.empty((num_tags, num_tags))
    closing = np.empty(num_tags)
    for i in range(num_tags):
        closing[i] = _exp(end[i] - end_peak)
        for j in range(num_tags):
            leaving[i, j] = _exp(transitions[i, j] - transition_peak)
    return _Chain(
        transitions.astype(np.float64),
        start.astype(np.float64),
        end.astype(np.float64),
        leaving,
        leaving.T.copy(),
        transition_peak,
        closing,
        end_peak,
    )


@kernel
def _row(num_tokens: int, num_tags: int) -> _Row:
    return _Row(
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty(num_tokens),
    )


@kernel
def _forward_row(chain: _Chain, emissions: np.ndarray, row: _Row) -> int:
    """Fills `row`, `adjoint` only at the last token that a path reaches: its tag's distribution.

    Args:
        chain: a `_Chain`.
        emissions: (n, K), n > 0.
        row: a `_Row`.

    Returns:
        How many tokens are reached by a path (the last only if it may end there); -1 if a message
        underflows.
    """
    num_tokens, num_tags = emissions.shape
    start_peak = _peak(chain.start)
    for t in range(num_tokens):
        message, arriving = row.messages[t], row.arriving[t]
        if t == 0:
            shift = start_peak
            for k in range(num_tags):
                arriving[k] = _exp(chain.start[k] - start_peak)
        else:
            shift = chain.transition_peak
            before = row.messages[t - 1]
            for k in range(num_tags):
                total = 0.0
                for i in range(num_tags):
                    total += before[i] * chain.entering[k, i]
                arriving[k] = total
        peak = _peak(emissions[t])
        total = 0.0
        num_tiny = 0
        for k in range(num_tags):
            message[k] = arriving[k] * _exp(emissions[t, k] - peak)
            total += message[k]
            num_tiny += message[k] < _TINY
        if num_tiny and _underflows(chain, emissions, row, t):
            return -1
        if total == 0.0:
            return _stop(row, t, num_tokens)
        scale = 1.0 / total
        for k in range(num_tags):
            message[k] *= scale
        row.log_normalizers[t] = np.log(total) + peak + shift
    return _close(chain, num_tokens, row)


@kernel
def _underflows(chain: _Chain, emissions: np.ndarray, row: _Row, t: int) -> bool:
    """Whether the message of a possible tag at token t is too small."""
    for k in range(len(chain.start)):
        if row.messages[t, k] >= _TINY or emissions[t, k] == -np.inf:
            continue
        if t == 0:
            if chain.start[k] > -np.inf:
                return True
            continue
        for i in range(len(chain.start)):
            if row.messages[t - 1, i] > 0.0 and chain.transitions[i, k] > -np.inf:
                return True
    return False


@kernel
def _close(chain: _Chain, num_tokens: int, row: _Row) -> int:
    """Adds the end scores to a row all of whose tokens are reached; returns as `_forward_row`."""
    t = num_tokens - 1
    message, last = row.messages[t], row.adjoint[t]
    total = 0.0
    for k in range(len(chain.end)):
        last[k] = message[k] * chain.closing[k]
        total += last[k]
    if total < _TINY:
        for k in range(len(chain.end)):
            if message[k] > 0.0 and chain.end[k] > -np.inf:
                return -1
        return _stop(row, t, num_tokens)
    for k in range(len(chain.end)):
        last[k] /= total
    row.log_normalizers[t] += np.log(total) + chain.end_peak
    return num_tokens


@kernel
def _stop(row: _Row, t: int, num_tokens: int) -> int:
    """Notes that no path reaches token t; returns t."""
    for later in range(t, num_tokens):
        row.log_normalizers[later] = -np.inf
    if t > 0:
        for k in range(row.messages.shape[1]):
            row.adjoint[t - 1, k] = row.messages[t - 1, k]
    return t


@kernel
def _forward_row_in_log_space(chain: _Chain, emissions: np.ndarray, row: _Row) -> int:
    """As `_forward_row`, for any scores."""
    num_tokens, num_tags = emissions.shape
    for t in range(num_tokens):
        for k in range(num_tags):
            row.arriving[t, k] = chain.start[k]
            if t > 0:
                row.arriving[t, k] = _log_sum(row.messages[t - 1] + chain.transitions[:, k])
            row.messages[t, k] = row.arriving[t, k] + emissions[t, k]
        log_total = _log_sum(row.messages[t])
        if log_total == -np.inf:
            break
        row.log_normalizers[t] = log_total
        for k in range(num_tags):
            row.messages[t, k] -= log_total
            row.adjoint[t, k] = np.exp(row.messages[t, k])
    else:
        closing = _log_sum(row.messages[t] + chain.end)
        if closing > -np.inf:
            row.log_normalizers[t] += closing
            for k in range(num_tags):
                row.adjoint[t, k] = np.exp(row.messages[t, k] + chain.end[k] - closing)
            return num_tokens
    for later in range(t, num_tokens):
        row.log_normalizers[later] = -np.inf
    return t


@kernel
def _adjoint_row(
    chain: _Chain, reached: int, upstream: np.ndarray, row: _Row, pairs: np.ndarray
) -> None:
    """Differentiates `sum_t upstream[t] log_normalizers[t]`.

    Args:
        chain: a `_Chain`.
        reached: how many tokens are reached by a path.
        upstream: (n,).
        row: a `_Row` filled by `_forward_row`. Afterwards `adjoint` holds the derivatives by the
            emissions, and `arriving` what they send back.
        pairs: (K, K); adds what is, times `leaving`, the derivatives by the transitions.
    """
    num_tags = len(chain.start)
    for k in range(num_tags):
        row.adjoint[reached - 1, k] *= upstream[reached - 1]
    for t in range(reached - 1, 0, -1):
        adjoint, returning = row.adjoint[t], row.arriving[t]
        for k in range(num_tags):
            returning[k] = 0.0 if returning[k] == 0.0 else adjoint[k] / returning[k]
        for i in range(num_tags):
            total = upstream[t - 1] - upstream[t]
            for k in range(num_tags):
                total += chain.leaving[i, k] * returning[k]
            row.adjoint[t - 1, i] = row.messages[t - 1, i] * total
    # Four tokens at a time, because the sums stay in memory.
    for t in range(1, reached - 3, 4):
        for i in range(num_tags):
            m0, m1 = row.messages[t - 1, i], row.messages[t, i]
            m2, m3 = row.messages[t + 1, i], row.messages[t + 2, i]
            for j in range(num_tags):
                pairs[i, j] += (m0 * row.arriving[t, j] + m1 * row.arriving[t + 1, j]) + (
                    m2 * row.arriving[t + 2, j] + m3 * row.arriving[t + 3, j]
                )
    for t in range(reached - (reached - 1) % 4, reached):
        for i in range(num_tags):
            for j in range(num_tags):
                pairs[i, j] += row.messages[t - 1, i] * row.arriving[t, j]


@kernel
def _adjoint_row_in_log_space(
    chain: _Chain, reached: int, upstream: np.ndarray, row: _Row, transition_gradients: np.ndarray
) -> None:
    """As `_adjoint_row`, but leaves `arriving`, and adds to the derivatives by the transitions."""
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


@kernel
def _row_values(
    chain: _Chain,
    emissions: np.ndarray,
    tags: np.ndarray,
    log_normalizers: np.ndarray,
    values: np.ndarray,
) -> None:
    """Writes the log normalisers, or what they take from the scores of the path `tags`.

    Args:
        chain: a `_Chain`.
        emissions: (n, K).
        tags: (n,), or empty for the normalisers alone.
        log_normalizers: (n,).
        values: (n,) for one value a token, or (1,) for their sum.
    """
    num_tokens = len(emissions)
    total = 0.0
    for t in range(num_tokens):
        value = log_normalizers[t]
        if len(tags) and value > -np.inf:
            arrival = chain.transitions[tags[t - 1], tags[t]] if t else chain.start[tags[t]]
            ending = chain.end[tags[t]] if t == num_tokens - 1 else 0.0
            value = emissions[t, tags[t]] + arrival + ending - value
        total += value
        if len(values) > 1:
            values[t] = value
    if len(values) == 1:
        values[0] = total


@kernel
def forward_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    tags: np.ndarray,
    values: np.ndarray,
) -> None:
    """Writes the log normalisers, or the log-likelihoods of `tags`, of rows `first` to `last`.

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        emissions: (B, T, K).
        transitions: (K, K).
        start: (K,).
        end: (K,).
        tags: (B, T) int64 for log-likelihoods; (B, 0) for log normalisers.
        values: (B, T) for one value a token, or (B, 1) for their sum; holds zeros.
    """
    chain = _chain(transitions, start, end)
    row = _row(emissions.shape[1], emissions.shape[2])
    for b in range(first, last):
        if lengths[b] > 0:
            own = emissions[b, : lengths[b]]
            if _forward_row(chain, own, row) < 0:
                _forward_row_in_log_space(chain, own, row)
            _row_values(chain, own, tags[b], row.log_normalizers, values[b])


@kernel
def _weigh(
    values: np.ndarray, weights: np.ndarray, num_tokens: int, sign: float, upstream: np.ndarray
) -> None:
    """Writes the weight of each token's log normaliser: none where the value is -inf."""
    for t in range(num_tokens):
        step = t if len(values) > 1 else 0
        upstream[t] = 0.0 if values[step] == -np.inf else sign * weights[step]


@kernel
def gradient_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    tags: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray,
    gradients: np.ndarray,
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `forward_rows`, and differentiates the sum of `weights` times `values`.

    Takes what `forward_rows` takes, `weights`, shaped as `values`, and `gradients`, (B, T, K), zeros
    into which the gradients by the emissions are written.

    Returns:
        The float64 gradients by transitions, start and end.
    """
    num_tokens, num_tags = emissions.shape[1:]
    chain = _chain(transitions, start, end)
    row = _row(num_tokens, num_tags)
    upstream = np.empty(num_tokens)
    pairs = np.zeros((num_tags, num_tags))
    by_transitions = np.zeros((num_tags, num_tags))
    by_start, by_end = np.zeros(num_tags), np.zeros(num_tags)
    sign = -1.0 if tags.shape[1] else 1.0
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            continue
        own = emissions[b, :n]
        reached = _forward_row(chain, own, row)
        underflows = reached < 0
        if underflows:
            reached = _forward_row_in_log_space(chain, own, row)
        _row_values(chain, own, tags[b], row.log_normalizers, values[b])
        _weigh(values[b], weights[b], n, sign, upstream)
        if reached > 0:
            if underflows:
                _adjoint_row_in_log_space(chain, reached, upstream, row, by_transitions)
            else:
                _adjoint_row(chain, reached, upstream, row, pairs)
            for t in range(reached):
                for k in range(num_tags):
                    gradients[b, t, k] = row.adjoint[t, k]
            for k in range(num_tags):
                by_start[k] += row.adjoint[0, k]
                if reached == n:
                    by_end[k] += row.adjoint[n - 1, k]
        if tags.shape[1]:
            for t in range(n):
                k = tags[b, t]
                gradients[b, t, k] -= upstream[t]
                if t:
                    by_transitions[tags[b, t - 1], k] -= upstream[t]
                else:
                    by_start[k] -= upstream[t]
                if t == n - 1:
                    by_end[k] -= upstream[t]
    for i in range(num_tags):
        for k in range(num_tags):
            by_transitions[i, k] += pairs[i, k] * chain.leaving[i, k]
    return by_transitions, by_start, by_end


@kernel
def transition_marginal_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    marginals: np.ndarray,
) -> None:
    """Writes the transition marginals into `marginals`, (B, T - 1, K, K), which holds zeros.

    The other arguments are those of `forward_rows`.
    """
    num_tokens, num_tags = emissions.shape[1:]
    chain = _chain(transitions, start, end)
    row = _row(num_tokens, num_tags)
    upstream = np.ones(num_tokens)
    unused = np.zeros((num_tags, num_tags))
    for b in range(first, last):
        n = lengths[b]
        if n < 2:
            continue
        own = emissions[b, :n]
        reached = _forward_row(chain, own, row)
        underflows = reached < 0
        if underflows:
            reached = _forward_row_in_log_space(chain, own, row)
        if reached < n:
            continue
        if underflows:
            _adjoint_row_in_log_space(chain, n, upstream, row, unused)
        else:
            _adjoint_row(chain, n, upstream, row, unused)
        for t in range(1, n):
            for i in range(num_tags):
                for k in range(num_tags):
                    if not underflows:
                        share = chain.leaving[i, k] * row.arriving[t, k]
                        marginals[b, t - 1, i, k] = row.messages[t - 1, i] * share
                    elif row.adjoint[t, k] > 0.0:
                        step = chain.transitions[i, k] - row.arriving[t, k]
                        share = np.exp(row.messages[t - 1, i] + step)
                        marginals[b, t - 1, i, k] = row.adjoint[t, k] * share
