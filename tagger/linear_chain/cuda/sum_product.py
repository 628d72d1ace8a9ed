# mypy: disable-error-code=no-untyped-def
# ruff: noqa: N803, N806
"""Kernels that sum over all paths: the forward recursion of a row, and its adjoint.

One program computes one row at a time and keeps the (K, K) transitions in registers. Messages, (K,),
are logarithms; each token's are shifted so that the largest is 0. Only the product of a message with
the transitions is computed in probability space. A term that underflows there does not matter if the
sum is large enough. Where a sum is smaller than `TINY`, the step is computed again in log space.

`tagger/linear_chain/README.md` derives the adjoint. Let `u_t` be the weight of log z_t, and `p(i | j)`
the probability that tag i precedes tag j, given the prefix and j. The derivatives with respect to the
emissions are

    adjoint[t, i] = (u_t - u_{t+1}) p(y_t = i | prefix) + sum_j adjoint[t+1, j] p(i | j)

and the terms of the last sum are those with respect to the transitions.

An optional pointer may be `None`; Triton then compiles a kernel without the code that uses it.

All kernels in this folder take contiguous tensors: emissions and messages (B, T, K), transitions
(K, K), start and end scores (K,), lengths (B,) int64 and, as `tags`, a path (B, T) int64; `num_tokens`
is T and `num_tags` K. Unless stated otherwise, they write only at real tokens.

Constants: `TAGS` and `REST` are the sides of the tiles that hold K tags (see `tiles`). `TINY` is the
smallest sum that does not count as an underflow. If `FROM_THE_END`, rows are read backwards, and
suffixes take the place of prefixes; the caller must then transpose the transitions, and swap the start
and end scores.
"""

from tagger.linear_chain.cuda.language import tl, triton
from tagger.linear_chain.cuda.tiles import (
    IMPOSSIBLE,
    column_of,
    exponential,
    finite,
    highest,
    load_column,
    load_tags,
    load_transitions,
    plus_outer_product,
    product,
    tags_in_tile,
    zeros,
)

#: Their values differ from call to call; Triton would compile a kernel for each kind of number.
STRIDES = ["upstream_row", "upstream_token", "values_row", "values_token"]


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
    arrivals,
    num_tokens,
    num_tags,
    TAGS: tl.constexpr,
    REST: tl.constexpr,
    TINY: tl.constexpr,
    FROM_THE_END: tl.constexpr,
):
    """Writes log z_t of each token; with `tags`, the token's score on that path minus log z_t.

    The values are (B, T). With `arrivals`, (B, T, K), writes those too: the log-sum of all prefixes
    that arrive at each tag, without the tag's emission, minus the log-sum of all prefixes up to the
    token before. The end scores are then ignored, `tags` must be `None`, and rows may be read from the
    end.
    """
    row = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + row).to(tl.int32)
    emissions += row * num_tokens * num_tags
    values += row * num_tokens
    if messages is not None:
        messages += row * num_tokens * num_tags
    if arrivals is not None:
        arrivals += row * num_tokens * num_tags
    tag = tags_in_tile(TAGS, REST)
    weights, peaks = _weights(transitions, num_tags, TAGS, REST)
    arriving = load_tags(start, num_tags, TAGS, REST)
    message = arriving
    value = tl.full((), 0.0, message.dtype)
    log_sum_before = value
    # Loaded one token ahead, so that the recursion does not wait for memory.
    first = _token(0, tl.maximum(length, 1), FROM_THE_END)
    next_emission = load_tags(emissions + first * num_tags, num_tags, TAGS, REST)
    for t in range(length):
        token = _token(t, length, FROM_THE_END)
        emission = next_emission
        next_token = _token(tl.minimum(t + 1, length - 1), length, FROM_THE_END)
        next_emission = load_tags(emissions + next_token * num_tags, num_tags, TAGS, REST)
        if t > 0:
            total = product(tl.exp(message), weights, TAGS, REST)
            is_needed = emission > IMPOSSIBLE if arrivals is None else tag < num_tags
            if _any(is_needed & (total < TINY)):
                for k in range(num_tags):
                    column = message + load_column(transitions, k, num_tags, TAGS, REST)
                    arriving = tl.where(tag == k, _log_sum(column), arriving)
            else:
                arriving = tl.log(_at_least(total, TINY)) + peaks
        if arrivals is not None:
            arrival = arriving - log_sum_before
            tl.store(arrivals + token * num_tags + tag, arrival, mask=tag < num_tags)
        message, top, log_sum = _shifted(arriving + emission)
        value = top + log_sum - log_sum_before
        log_sum_before = log_sum
        tl.store(values + token, value)
        if messages is not None:
            tl.store(messages + token * num_tags + tag, message, mask=tag < num_tags)
    if arrivals is None and length > 0:
        _, top, log_sum = _shifted(message + load_tags(end, num_tags, TAGS, REST))
        tl.store(values + length - 1, value + top + log_sum - log_sum_before)
    if tags is not None:
        # Other threads of this program wrote the values that are read below.
        tl.debug_barrier()
        tags += row * num_tokens
        _subtract_from_path(emissions, transitions, start, end, tags, values, length, num_tags)


@triton.jit(do_not_specialize=STRIDES)
def adjoint_kernel(
    messages,
    transitions,
    entering,
    end,
    lengths,
    tags,
    upstream,
    by_emissions,
    by_ends,
    pairs,
    values,
    batch_size,
    num_tokens,
    num_tags,
    upstream_row,
    upstream_token,
    values_row,
    values_token,
    TAGS: tl.constexpr,
    REST: tl.constexpr,
    TINY: tl.constexpr,
    OF_ARRIVALS: tl.constexpr,
    FROM_THE_END: tl.constexpr,
):
    """Differentiates log z_t; with `tags`, the token's score on that path minus log z_t.

    If `OF_ARRIVALS`, differentiates the arrivals up to a constant for each token: the caller's function
    must not depend on these constants, so `upstream` sums to 0 over tags. `tags` and `values` must be
    `None`.

    - `messages` are those of `forward_kernel`, and `entering` is the transpose of the transitions;
    - `upstream`, (B, T), are the weights of the tokens, ignored where the `values`, (B, T), which are
      differentiated, are -inf. Both have strides, `..._row` and `..._token`. If `OF_ARRIVALS`,
      `upstream` are the weights of the arrivals, (B, T, K) and contiguous;
    - `by_emissions`, (B, T, K), is written everywhere, with zeros in the padding;
    - `by_ends`, (B, 2, K), are the derivatives with respect to the start and the end scores, written for
      rows that have a token; if `OF_ARRIVALS`, only those with respect to the start scores;
    - `pairs` are (P, 2, K, K): each of the grid's P programs adds derivatives with respect to the
      transitions, of log z_t to the first matrix and of the path's score to the second.
    """
    program = tl.program_id(0)
    tag = tags_in_tile(TAGS, REST)
    is_tag = tag < num_tags
    num_pairs = num_tags * num_tags
    weights, peaks = _weights(transitions, num_tags, TAGS, REST)
    # Transposed: each thread can sum over the first dimension by itself, but a sum over the second
    # takes all threads.
    entering = load_transitions(entering, num_tags, TAGS, REST)
    entering = exponential(entering, peaks, 0, REST)
    zero = tl.zeros(tag.shape, peaks.dtype)
    sums = zeros(peaks.dtype, TAGS, REST)
    own_pairs = pairs + program.to(tl.int64) * 2 * num_pairs
    for index in range(program, batch_size, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        length = tl.load(lengths + row).to(tl.int32)
        messages_of_row = messages + row * num_tokens * num_tags
        by_emissions_of_row = by_emissions + row * num_tokens * num_tags
        if tags is not None:
            tags_of_row = tags + row * num_tokens
        by_ends_of_row = by_ends + row * 2 * num_tags
        if OF_ARRIVALS:
            upstream_of_row = upstream + row * num_tokens * num_tags
        else:
            upstream_of_row = upstream + row * upstream_row
            values_of_row = values + row * values_row
        adjoint = zero
        weight = tl.full((), 0.0, peaks.dtype)
        own = tl.full((), 0, tl.int32)
        if tags is not None and length > 0:
            own = tl.load(tags_of_row + length - 1).to(tl.int32)
        if not OF_ARRIVALS and length > 0:
            last = load_tags(messages_of_row + (length - 1) * num_tags, num_tags, TAGS, REST)
            weight = _weight(
                upstream_of_row, upstream_token, values_of_row, values_token, length - 1
            )
            if tags is not None:
                weight = -weight
            adjoint = weight * _softmax(last + load_tags(end, num_tags, TAGS, REST))
        # Loaded one token ahead, so that the recursion does not wait for memory.
        next_message = zero
        if length > 1:
            token = _token(length - 2, length, FROM_THE_END)
            next_message = load_tags(messages_of_row + token * num_tags, num_tags, TAGS, REST)
        for step in range(length):
            t = length - 1 - step
            token = _token(t, length, FROM_THE_END)
            before = next_message
            token_ahead = _token(tl.maximum(t - 2, 0), length, FROM_THE_END)
            next_message = load_tags(messages_of_row + token_ahead * num_tags, num_tags, TAGS, REST)
            weight_before = weight
            own_before = own
            if t > 0:
                if not OF_ARRIVALS:
                    weight_before = _weight(
                        upstream_of_row, upstream_token, values_of_row, values_token, t - 1
                    )
                    if tags is not None:
                        weight_before = -weight_before
                if tags is not None:
                    own_before = tl.load(tags_of_row + t - 1).to(tl.int32)
            gradient = adjoint
            if tags is not None:
                gradient -= tl.where(tag == own, weight, 0.0)
            tl.store(by_emissions_of_row + token * num_tags + tag, gradient, mask=is_tag)
            if not OF_ARRIVALS and step == 0:
                tl.store(by_ends_of_row + num_tags + tag, gradient, mask=is_tag)
            if OF_ARRIVALS:
                of_tags = upstream_of_row + token * num_tags + tag
                adjoint += tl.load(of_tags, mask=is_tag, other=0.0)
                # Rounding errors in a token's constant would add up from token to token.
                own_message = load_tags(messages_of_row + token * num_tags, num_tags, TAGS, REST)
                adjoint -= tl.sum(adjoint) * _softmax(own_message)
                gradient = adjoint
            if t == 0:
                tl.store(by_ends_of_row + tag, gradient, mask=is_tag)
            else:
                message = tl.exp(before)
                total = product(message, weights, TAGS, REST)
                if _any((adjoint != 0.0) & (total < TINY)):
                    ratio = zero
                    returned = zero
                    for k in range(num_tags):
                        column = before + load_column(transitions, k, num_tags, TAGS, REST)
                        share = _softmax(column) * tl.sum(tl.where(tag == k, adjoint, 0.0))
                        returned += share
                        target = own_pairs + (tag * num_tags + k)
                        share += tl.load(target, mask=is_tag, other=0.0)
                        tl.store(target, share, mask=is_tag)
                else:
                    ratio = tl.where(adjoint != 0.0, adjoint / _at_least(total, TINY), 0.0)
                    returned = message * product(ratio, entering, TAGS, REST)
                sums = plus_outer_product(sums, message, ratio, REST)
                if tags is not None:
                    # Only one thread adds, so that the order of the additions is fixed.
                    move = num_pairs + own_before * num_tags + own
                    tl.atomic_add(own_pairs + move, -weight, sem="relaxed")
                    own = own_before
                adjoint = returned
                if not OF_ARRIVALS:
                    # A token's adjoint sums to its weight up to rounding, which would add up.
                    missing = weight_before - tl.sum(returned)
                    scale = missing / _at_least(tl.sum(message), 1.0)
                    adjoint += scale * message
                    weight = weight_before
        _clear(by_emissions_of_row, length * num_tags, num_tokens * num_tags)
    # Other threads of this program may have stored what is loaded below.
    tl.debug_barrier()
    # Columns are stored one by one: a tile of addresses would take registers all the time.
    for k in range(num_tags):
        target = own_pairs + (tag * num_tags + k)
        column = column_of(sums, k, TAGS, REST) * column_of(weights, k, TAGS, REST)
        column += tl.load(target, mask=is_tag, other=0.0)
        tl.store(target, column, mask=is_tag)


@triton.jit
def _weight(upstream, upstream_token, values, values_token, t):
    """Returns the weight of token t of a row, 0 where its value is -inf."""
    value = tl.load(values + t * values_token)
    return tl.where(value == IMPOSSIBLE, 0.0, tl.load(upstream + t * upstream_token))


@triton.jit
def _token(t, length, FROM_THE_END: tl.constexpr):
    """Returns the position of the token that is read as the t-th."""
    return length - 1 - t if FROM_THE_END else t


@triton.jit
def _weights(transitions, num_tags, TAGS: tl.constexpr, REST: tl.constexpr):
    """Returns the matrix exp(transitions - peaks), and the columns' finite peaks."""
    scores = load_transitions(transitions, num_tags, TAGS, REST)
    peaks = finite(highest(scores, TAGS, REST))
    return exponential(scores, peaks, 1, REST), peaks


@triton.jit
def _at_least(values, bound):
    """Returns the larger of the two; NaN stays NaN, unlike in `tl.maximum`."""
    return tl.where(values < bound, bound, values)


@triton.jit
def _any(conditions):
    return tl.max(conditions.to(tl.int32)) > 0


@triton.jit
def _shifted(scores):
    """Returns `scores` minus the largest, the largest, and the log-sum of the first (0 if all -inf)."""
    top = tl.max(scores)
    scores -= finite(top)
    return scores, top, tl.log(_at_least(tl.sum(tl.exp(scores)), 1.0))


@triton.jit
def _softmax(scores):
    """Returns the softmax of a vector; zeros where all scores are -inf."""
    powers = tl.exp(scores - finite(tl.max(scores)))
    return powers / _at_least(tl.sum(powers), 1.0)


@triton.jit
def _log_sum(scores):
    """Returns the log-sum of a vector; -inf where all scores are -inf."""
    _, top, log_sum = _shifted(scores)
    return top + log_sum


@triton.jit
def _subtract_from_path(emissions, transitions, start, end, tags, values, length, num_tags):
    """Replaces each log z_t of a row by the path's score at token t minus log z_t."""
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
        value = tl.where(is_possible, score - finite(log_normalizer), IMPOSSIBLE)
        tl.store(values + t, value, mask=is_real)


@triton.jit
def _clear(target, first, last):
    """Writes zeros to `target[first:last]`."""
    BLOCK: tl.constexpr = 256
    for offset in range(first, last, BLOCK):
        i = offset + tl.arange(0, BLOCK)
        tl.store(target + i, tl.zeros((BLOCK,), tl.float32), mask=i < last)
