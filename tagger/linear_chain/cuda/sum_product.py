# mypy: disable-error-code=no-untyped-def
# ruff: noqa: N803, N806
"""Kernels over the sum of all paths: the forward recursion of a row, and its adjoint.

One program computes one row at a time and keeps the (K, K) transitions in registers. Messages are
logarithms, (K,), shifted at every token so that the largest is 0; only the product with the
transitions is taken between probabilities. What that product loses to underflow counts for nothing
unless all of it is small; the few steps where it is are computed again in log space.

The adjoint is derived in `tagger.linear_chain.cpu.kernels.adjoints`: with `u_t` the weight of log z_t
and `p(i | j)` the probability that tag i precedes tag j, given the prefix and j,

    adjoint[t, i] = (u_t - u_{t+1}) p(y_t = i | prefix) + sum_j adjoint[t+1, j] p(i | j)

are the derivatives by the emissions, and the summands of the last sum those by the transitions.

Letters: `TAGS` is K rounded up to a power of two; tags that do not exist score -inf. `TINY` is the
smallest sum that is not taken for underflow. See the package for `B`, `T`, `K`.
"""

from tagger.linear_chain.cuda.language import tl, triton
from tagger.linear_chain.cuda.tiles import IMPOSSIBLE, load_column, load_tags, load_transitions

#: What `adjoint_kernel` makes of the transitions' derivatives: nothing, a sum, or one matrix a token.
DROP, SUM, KEEP = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def forward_kernel(
    emissions,
    transitions,
    start,
    end,
    lengths,
    tags,
    values,
    messages,
    num_tokens,
    num_tags,
    TAGS: tl.constexpr,
    TINY: tl.constexpr,
    HAS_TAGS: tl.constexpr,
    HAS_MESSAGES: tl.constexpr,
):
    """Writes log z_t, or what it takes from the score of each token on the path `tags`.

    Args:
        emissions: (B, T, K).
        transitions: (K, K).
        start: (K,).
        end: (K,).
        lengths: (B,) int64.
        tags: (B, T) int64, read if `HAS_TAGS`.
        values: (B, T); holds zeros.
        messages: (B, T, K), written at real tokens if `HAS_MESSAGES`.
        num_tokens: T.
        num_tags: K.
        TAGS: see above.
        TINY: see above.
        HAS_TAGS: whether to write log-likelihoods.
        HAS_MESSAGES: whether to keep the messages.
    """
    row = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + row).to(tl.int32)
    emissions += row * num_tokens * num_tags
    messages += row * num_tokens * num_tags
    values += row * num_tokens
    tag = tl.arange(0, TAGS)
    weights, peaks = _weights(transitions, num_tags, TAGS)
    arriving = load_tags(start, num_tags, TAGS)
    message = arriving
    value = tl.full((), 0.0, message.dtype)
    log_sum_before = value
    for t in range(length):
        emission = load_tags(emissions + t * num_tags, num_tags, TAGS)
        if t > 0:
            total = tl.sum(tl.exp(message)[:, None] * weights, 0)
            if _any((emission > IMPOSSIBLE) & (total < TINY)):
                for k in range(num_tags):
                    column = message + load_column(transitions, k, num_tags, TAGS)
                    arriving = tl.where(tag == k, _log_sum(column), arriving)
            else:
                arriving = tl.log(_at_least(total, TINY)) + peaks
        message, top, log_sum = _shifted(arriving + emission)
        value = top + log_sum - log_sum_before
        log_sum_before = log_sum
        tl.store(values + t, value)
        if HAS_MESSAGES:
            tl.store(messages + t * num_tags + tag, message, mask=tag < num_tags)
    if length > 0:
        _, top, log_sum = _shifted(message + load_tags(end, num_tags, TAGS))
        tl.store(values + length - 1, value + top + log_sum - log_sum_before)
    if HAS_TAGS:
        tl.debug_barrier()
        tags += row * num_tokens
        _subtract_from_path(emissions, transitions, start, end, tags, values, length, num_tags)


@triton.jit
def adjoint_kernel(
    messages,
    transitions,
    entering,
    end,
    lengths,
    tags,
    upstream,
    by_emissions,
    pairs,
    batch_size,
    num_tokens,
    num_tags,
    TAGS: tl.constexpr,
    TINY: tl.constexpr,
    HAS_TAGS: tl.constexpr,
    PAIRS: tl.constexpr,
):
    """Differentiates the log normalisers, or what they exceed the score of each token on the path by.

    Args:
        messages: (B, T, K), from `forward_kernel`.
        transitions: (K, K).
        entering: (K, K), its transpose.
        end: (K,).
        lengths: (B,) int64.
        tags: (B, T) int64, read if `HAS_TAGS`.
        upstream: (B, T), the weights of the tokens; 0 where log z_t or the path's score is -inf.
        by_emissions: (B, T, K), written everywhere.
        pairs: the derivatives by the transitions are added to it. If `PAIRS` is `SUM`, (P, 2, K, K):
            for each of the grid's P programs, the sum, and apart from it what the path adds. If
            `KEEP`, (B, T - 1, K, K).
        batch_size: B.
        num_tokens: T.
        num_tags: K.
        TAGS: see above.
        TINY: see above.
        HAS_TAGS: whether the path's scores are subtracted.
        PAIRS: `DROP`, `SUM` or `KEEP`.
    """
    program = tl.program_id(0)
    tag = tl.arange(0, TAGS)
    is_tag = tag < num_tags
    num_pairs = num_tags * num_tags
    weights, peaks = _weights(transitions, num_tags, TAGS)
    # (TAGS, TAGS), the tag moved to first: a sum over the first dimension is each thread's own, one
    # over the second takes all threads.
    entering = tl.exp(load_transitions(entering, num_tags, TAGS) - peaks[:, None])
    sums = tl.zeros((TAGS, TAGS), weights.dtype)
    own_pairs = pairs + program.to(tl.int64) * 2 * num_pairs
    for index in range(program, batch_size, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        length = tl.load(lengths + row).to(tl.int32)
        messages_of_row = messages + row * num_tokens * num_tags
        by_emissions_of_row = by_emissions + row * num_tokens * num_tags
        tags_of_row = tags + row * num_tokens
        upstream_of_row = upstream + row * num_tokens
        adjoint = tl.zeros((TAGS,), weights.dtype)
        weight = tl.full((), 0.0, weights.dtype)
        if length > 0:
            last = load_tags(messages_of_row + (length - 1) * num_tags, num_tags, TAGS)
            weight = tl.load(upstream_of_row + length - 1)
            adjoint = weight * _softmax(last + load_tags(end, num_tags, TAGS))
        for step in range(length):
            t = length - 1 - step
            gradient = adjoint
            if HAS_TAGS:
                own = tl.load(tags_of_row + t)
                gradient -= tl.where(tag == own, weight, 0.0)
            tl.store(by_emissions_of_row + t * num_tags + tag, gradient, mask=is_tag)
            if t > 0:
                before = load_tags(messages_of_row + (t - 1) * num_tags, num_tags, TAGS)
                message = tl.exp(before)
                total = tl.sum(message[:, None] * weights, 0)
                if PAIRS == KEEP:
                    own_pairs = pairs + (row * (num_tokens - 1) + t - 1) * num_pairs
                if _any((adjoint != 0.0) & (total < TINY)):
                    ratio = tl.zeros((TAGS,), weights.dtype)
                    returned = ratio
                    for k in range(num_tags):
                        column = before + load_column(transitions, k, num_tags, TAGS)
                        share = _softmax(column) * tl.sum(tl.where(tag == k, adjoint, 0.0), 0)
                        returned += share
                        if PAIRS != DROP:
                            target = own_pairs + tag * num_tags + k
                            share += tl.load(target, mask=is_tag, other=0.0)
                            tl.store(target, share, mask=is_tag)
                else:
                    ratio = tl.where(adjoint != 0.0, adjoint / _at_least(total, TINY), 0.0)
                    returned = message * tl.sum(entering * ratio[:, None], 0)
                    if PAIRS == KEEP:
                        shares = message[:, None] * weights * ratio[None, :]
                        pair = tag[:, None] * num_tags + tag[None, :]
                        is_pair = is_tag[:, None] & is_tag[None, :]
                        tl.store(own_pairs + pair, shares, mask=is_pair)
                if PAIRS == SUM:
                    sums += message[:, None] * ratio[None, :]
                    if HAS_TAGS:
                        # Only one thread adds, so that the order of the additions is fixed.
                        move = tl.load(tags_of_row + t - 1) * num_tags + own
                        tl.atomic_add(own_pairs + num_pairs + move, -weight, sem="relaxed")
                weight_before = tl.load(upstream_of_row + t - 1)
                scale = (weight_before - weight) / _at_least(tl.sum(message, 0), 1.0)
                adjoint = returned + scale * message
                weight = weight_before
        _clear(by_emissions_of_row, length * num_tags, num_tokens * num_tags)
    if PAIRS == SUM:
        sums *= weights
        # What is loaded below may have been stored by another thread.
        tl.debug_barrier()
        # Column by column, so that no registers hold a tile of addresses all the time.
        for k in range(num_tags):
            target = own_pairs + tag * num_tags + k
            column = tl.sum(tl.where(tag[None, :] == k, sums, 0.0), 1)
            column += tl.load(target, mask=is_tag, other=0.0)
            tl.store(target, column, mask=is_tag)


@triton.jit
def _weights(transitions, num_tags, TAGS: tl.constexpr):
    """exp(transitions - peaks), (TAGS, TAGS), and the finite peaks of its columns, (TAGS,)."""
    scores = load_transitions(transitions, num_tags, TAGS)
    peaks = _finite(tl.max(scores, 0))
    return tl.exp(scores - peaks[None, :]), peaks


@triton.jit
def _finite(scores):
    """`scores` with 0 for -inf."""
    return tl.where(scores == IMPOSSIBLE, 0.0, scores)


@triton.jit
def _at_least(values, bound):
    """The larger of the two; NaN, unlike in `tl.maximum`, stays NaN."""
    return tl.where(values < bound, bound, values)


@triton.jit
def _any(conditions):
    return tl.max(conditions.to(tl.int32), 0) > 0


@triton.jit
def _shifted(scores):
    """`scores` less the largest, that one, and the log-sum of the former (0 where all are -inf)."""
    top = tl.max(scores, 0)
    scores -= _finite(top)
    return scores, top, tl.log(_at_least(tl.sum(tl.exp(scores), 0), 1.0))


@triton.jit
def _softmax(scores):
    """The softmax of a vector, 0 where all of it is -inf."""
    powers = tl.exp(scores - _finite(tl.max(scores, 0)))
    return powers / _at_least(tl.sum(powers, 0), 1.0)


@triton.jit
def _log_sum(scores):
    """The log-sum of a vector, -inf where all of it is -inf."""
    _, top, log_sum = _shifted(scores)
    return top + log_sum


@triton.jit
def _subtract_from_path(emissions, transitions, start, end, tags, values, length, num_tags):
    """Replaces each of a row's log normalisers by the path's score at that token less it."""
    BLOCK: tl.constexpr = 128
    for first in range(0, length, BLOCK):
        t = first + tl.arange(0, BLOCK)
        is_real = t < length
        own = tl.load(tags + t, mask=is_real, other=0)
        before = tl.load(tags + t - 1, mask=is_real & (t > 0), other=0)
        score = tl.load(emissions + t * num_tags + own, mask=is_real, other=0.0)
        score += tl.load(start + own, mask=t == 0, other=0.0)
        score += tl.load(transitions + before * num_tags + own, mask=is_real & (t > 0), other=0.0)
        score += tl.load(end + own, mask=t == length - 1, other=0.0)
        log_normalizer = tl.load(values + t, mask=is_real, other=0.0)
        is_possible = log_normalizer != IMPOSSIBLE
        value = tl.where(is_possible, score - _finite(log_normalizer), IMPOSSIBLE)
        tl.store(values + t, value, mask=is_real)


@triton.jit
def _clear(target, first, last):
    """Writes zeros to `target[first:last]`."""
    BLOCK: tl.constexpr = 256
    for offset in range(first, last, BLOCK):
        i = offset + tl.arange(0, BLOCK)
        tl.store(target + i, tl.zeros((BLOCK,), tl.float32), mask=i < last)
