# mypy: disable-error-code=no-untyped-def
# ruff: noqa: N803
"""Loads scores into tiles whose sides are powers of two; the tags added as padding score -inf."""

from tagger.linear_chain.cuda.language import tl, triton

IMPOSSIBLE = tl.constexpr(float("-inf"))


@triton.jit
def load_tags(scores, num_tags, TAGS: tl.constexpr):
    """Loads scores, (K,), into a tile, (TAGS,)."""
    tag = tl.arange(0, TAGS)
    return tl.load(scores + tag, mask=tag < num_tags, other=IMPOSSIBLE)


@triton.jit
def load_transitions(transitions, num_tags, TAGS: tl.constexpr):
    """Loads scores, (K, K), into a tile, (TAGS, TAGS)."""
    tag = tl.arange(0, TAGS)
    pairs = tag[:, None] * num_tags + tag[None, :]
    is_pair = (tag[:, None] < num_tags) & (tag[None, :] < num_tags)
    return tl.load(transitions + pairs, mask=is_pair, other=IMPOSSIBLE)


@triton.jit
def load_column(transitions, k, num_tags, TAGS: tl.constexpr):
    """Loads the scores of the transitions to tag k into a tile, (TAGS,)."""
    tag = tl.arange(0, TAGS)
    return tl.load(transitions + tag * num_tags + k, mask=tag < num_tags, other=IMPOSSIBLE)


@triton.jit
def finite(scores):
    """Returns `scores` with 0 in place of -inf."""
    return tl.where(scores == IMPOSSIBLE, 0.0, scores)
