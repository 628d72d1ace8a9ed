# mypy: disable-error-code=no-untyped-def
# ruff: noqa: N803
"""The kernel that draws paths by backward sampling."""

from tagger.linear_chain.cuda.language import tl, triton
from tagger.linear_chain.cuda.tiles import finite, load_column, load_tags


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
    """Draws paths, (B, S, T) int64, by inverting distributions at `uniforms`, (B, S, T) in [0, 1).

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
        # Rounding must not draw a tag whose weight is 0.
        last_possible = tl.max(tl.where(weights > 0.0, tag, 0), 0)
        current = tl.min(tl.where(drawn & (weights > 0.0), tag, last_possible), 0)
        tl.store(paths + t, current)
        leaving = load_column(transitions, current, num_tags, TAGS, 0)
