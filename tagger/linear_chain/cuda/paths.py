# mypy: disable-error-code=no-untyped-def
# ruff: noqa: N803
"""The kernels that find the best path of each row, and that draw paths by backward sampling."""

from tagger.linear_chain.cuda.language import tl, triton
from tagger.linear_chain.cuda.tiles import (
    best_moves,
    finite,
    load_column,
    load_tags,
    load_transitions,
    tags_in_tile,
)


@triton.jit
def best_path_kernel(
    emissions,
    transitions,
    start,
    end,
    lengths,
    pointers,
    paths,
    path_scores,
    num_tokens,
    num_tags,
    TAGS: tl.constexpr,
    REST: tl.constexpr,
):
    """Writes the best path of each row and its score, (B,); one program computes one row.

    `pointers`, (B, T, K) uint8, are scratch. `sum_product` describes the other arguments.
    """
    row = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + row).to(tl.int32)
    if length > 0:
        emissions += row * num_tokens * num_tags
        pointers += row * num_tokens * num_tags
        paths += row * num_tokens
        tag = tags_in_tile(TAGS, REST)
        moves = load_transitions(transitions, num_tags, TAGS, REST)
        best = load_tags(start, num_tags, TAGS, REST) + load_tags(emissions, num_tags, TAGS, REST)
        # Loaded one token ahead, so that the recursion does not wait for memory.
        next_token = tl.minimum(1, length - 1)
        next_emission = load_tags(emissions + next_token * num_tags, num_tags, TAGS, REST)
        for t in range(1, length):
            emission = next_emission
            next_token = tl.minimum(t + 1, length - 1)
            next_emission = load_tags(emissions + next_token * num_tags, num_tags, TAGS, REST)
            best, pointer = best_moves(best, moves, TAGS, REST)
            best += emission
            tl.store(pointers + t * num_tags + tag, pointer.to(tl.uint8), mask=tag < num_tags)
        best += load_tags(end, num_tags, TAGS, REST)
        best_score = tl.max(best)
        current = tl.max(tl.where(best == best_score, tag, 0))
        tl.store(path_scores + row, best_score)
        # Other threads of this program wrote the pointers that are read below.
        tl.debug_barrier()
        is_tag = tag < num_tags
        next_pointer = tl.load(pointers + (length - 1) * num_tags + tag, mask=is_tag, other=0)
        for step in range(1, length):
            t = length - step
            tl.store(paths + t, current)
            pointer = next_pointer
            next_token = tl.maximum(t - 1, 0)
            next_pointer = tl.load(pointers + next_token * num_tags + tag, mask=is_tag, other=0)
            current = tl.sum(tl.where(tag == current, pointer.to(tl.int32), 0))
        tl.store(paths, current)


@triton.jit
def sample_kernel(
    messages,
    transitions,
    end,
    lengths,
    uniforms,
    paths,
    num_samples,
    num_tokens,
    num_tags,
    TAGS: tl.constexpr,
):
    """Draws paths, (B, S, T) int64, by inverse transform sampling of `uniforms`, (B, S, T) in [0, 1).

    One program draws one path. Messages, from `forward_kernel`, and scores are float64; `TAGS` is K
    rounded up to a power of two. `sum_product` describes the other arguments.
    """
    sample = tl.program_id(0).to(tl.int64)
    row = sample // num_samples
    length = tl.load(lengths + row).to(tl.int32)
    messages += row * num_tokens * num_tags
    uniforms += sample * num_tokens
    paths += sample * num_tokens
    tag = tl.arange(0, TAGS)
    leaving = load_tags(end, num_tags, TAGS, 0)
    for step in range(length):
        t = length - 1 - step
        log_weights = load_tags(messages + t * num_tags, num_tags, TAGS, 0) + leaving
        weights = tl.exp(log_weights - finite(tl.max(log_weights, 0)))
        cumulated = tl.cumsum(weights, 0)
        drawn = cumulated > tl.load(uniforms + t) * tl.max(cumulated, 0)
        # Keeps rounding from drawing a tag of weight 0.
        last_possible = tl.max(tl.where(weights > 0.0, tag, 0), 0)
        current = tl.min(tl.where(drawn & (weights > 0.0), tag, last_possible), 0)
        tl.store(paths + t, current)
        leaving = load_column(transitions, current, num_tags, TAGS, 0)
