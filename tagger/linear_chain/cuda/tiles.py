# mypy: disable-error-code="no-untyped-def,assignment"
# ruff: noqa: N803
"""Vectors over tags, and matrices over pairs of tags, in tiles with sides that are powers of two.

A vector is a tile, (TAGS,), and a matrix a tuple of one tile, (TAGS, TAGS). More tags than TAGS leave a
rest of up to REST tags, so 33 tags do not have to be padded to 64. A vector is then (TAGS, 2), in which
`[i, 0]` is tag i and `[i, 1]` is tag TAGS + i, and a matrix has four tiles: from the first tags to the
first, from the first to the rest, from the rest to the first, and from the rest to the rest.

Scores of the tags added as padding are -inf.
"""

from tagger.linear_chain.cuda.language import tl, triton

IMPOSSIBLE = tl.constexpr(float("-inf"))


@triton.jit
def tags_in_tile(TAGS: tl.constexpr, REST: tl.constexpr):
    """Returns the tag at each place of a vector."""
    tag = tl.arange(0, TAGS)
    if REST > 0:
        tag = tag[:, None] + TAGS * tl.arange(0, 2)[None, :]
    return tag


@triton.jit
def load_tags(scores, num_tags, TAGS: tl.constexpr, REST: tl.constexpr):
    """Loads scores, (K,), into a vector."""
    tag = tags_in_tile(TAGS, REST)
    return tl.load(scores + tag, mask=tag < num_tags, other=IMPOSSIBLE)


@triton.jit
def load_column(transitions, k, num_tags, TAGS: tl.constexpr, REST: tl.constexpr):
    """Loads the scores of the transitions to tag k into a vector."""
    tag = tags_in_tile(TAGS, REST)
    return tl.load(transitions + tag * num_tags + k, mask=tag < num_tags, other=IMPOSSIBLE)


@triton.jit
def load_transitions(transitions, num_tags, TAGS: tl.constexpr, REST: tl.constexpr):
    """Loads scores, (K, K), into a matrix."""
    tag = tl.arange(0, TAGS)
    matrix = (_load_pairs(transitions, tag, tag, num_tags),)
    if REST > 0:
        rest = TAGS + tl.arange(0, REST)
        matrix += (
            _load_pairs(transitions, tag, rest, num_tags),
            _load_pairs(transitions, rest, tag, num_tags),
            _load_pairs(transitions, rest, rest, num_tags),
        )
    return matrix


@triton.jit
def _load_pairs(transitions, before, after, num_tags):
    is_pair = (before[:, None] < num_tags) & (after[None, :] < num_tags)
    pairs = before[:, None] * num_tags + after[None, :]
    return tl.load(transitions + pairs, mask=is_pair, other=IMPOSSIBLE)


@triton.jit
def zeros(dtype: tl.constexpr, TAGS: tl.constexpr, REST: tl.constexpr):
    """Returns a matrix of zeros."""
    matrix = (tl.zeros((TAGS, TAGS), dtype),)
    if REST > 0:
        matrix += (
            tl.zeros((TAGS, REST), dtype),
            tl.zeros((REST, TAGS), dtype),
            tl.zeros((REST, REST), dtype),
        )
    return matrix


@triton.jit
def _parts(vector, REST: tl.constexpr):
    """Returns the first tags of a vector, (TAGS,), and the rest, (REST,), if there is one."""
    first, rest = vector, vector
    if REST > 0:
        first, rest = tl.split(vector)
        rest = tl.gather(rest, tl.arange(0, REST), 0)
    return first, rest


@triton.jit
def _joined(first, rest, PADDING: tl.constexpr, TAGS: tl.constexpr, REST: tl.constexpr):
    """Returns a vector of its parts; the tags added as padding to the rest get PADDING."""
    tag = tl.arange(0, TAGS)
    return tl.join(first, tl.where(tag < REST, tl.gather(rest, tag % REST, 0), PADDING))


@triton.jit
def product(vector, matrix, TAGS: tl.constexpr, REST: tl.constexpr):
    """Returns the product of a vector with a matrix, summed over the tags moved from."""
    first, rest = _parts(vector, REST)
    total = tl.sum(first[:, None] * matrix[0], 0)
    if REST > 0:
        total += tl.sum(rest[:, None] * matrix[2], 0)
        to_rest = tl.sum(first[:, None] * matrix[1], 0) + tl.sum(rest[:, None] * matrix[3], 0)
        total = _joined(total, to_rest, 0.0, TAGS, REST)
    return total


@triton.jit
def best_moves(scores, matrix, TAGS: tl.constexpr, REST: tl.constexpr):
    """Returns for each tag the best sum of a score and a move to it, and the tag moved from."""
    first, rest = _parts(scores, REST)
    best, before = tl.max(first[:, None] + matrix[0], 0, return_indices=True)
    if REST > 0:
        best, before = _better(best, before, rest[:, None] + matrix[2], TAGS)
        of_rest, before_rest = tl.max(first[:, None] + matrix[1], 0, return_indices=True)
        of_rest, before_rest = _better(of_rest, before_rest, rest[:, None] + matrix[3], TAGS)
        best = _joined(best, of_rest, IMPOSSIBLE, TAGS, REST)
        before = _joined(before, before_rest, 0, TAGS, REST)
    return best, before


@triton.jit
def _better(best, before, sums, TAGS: tl.constexpr):
    """Returns the best sum and the tag moved from, which may be one of the rest with these sums."""
    best_of_rest, rest = tl.max(sums, 0, return_indices=True)
    before = tl.where(best_of_rest > best, TAGS + rest, before)
    return tl.maximum(best_of_rest, best), before


@triton.jit
def plus_outer_product(matrix, before, after, REST: tl.constexpr):
    """Returns `matrix` plus the products of each tag of `before` with each of `after`."""
    first, rest = _parts(before, REST)
    to_first, to_rest = _parts(after, REST)
    total = (matrix[0] + first[:, None] * to_first[None, :],)
    if REST > 0:
        total += (
            matrix[1] + first[:, None] * to_rest[None, :],
            matrix[2] + rest[:, None] * to_first[None, :],
            matrix[3] + rest[:, None] * to_rest[None, :],
        )
    return total


@triton.jit
def highest(matrix, TAGS: tl.constexpr, REST: tl.constexpr):
    """Returns the vector of the largest entry for each tag moved to."""
    top = tl.max(matrix[0], 0)
    if REST > 0:
        top = tl.maximum(top, tl.max(matrix[2], 0))
        of_rest = tl.maximum(tl.max(matrix[1], 0), tl.max(matrix[3], 0))
        top = _joined(top, of_rest, IMPOSSIBLE, TAGS, REST)
    return top


@triton.jit
def exponential(matrix, shifts, AXIS: tl.constexpr, REST: tl.constexpr):
    """Returns exp(matrix - shifts), with shifts of the tags moved from (AXIS 0), or moved to (1)."""
    first, rest = _parts(shifts, REST)
    first, rest = tl.expand_dims(first, 1 - AXIS), tl.expand_dims(rest, 1 - AXIS)
    powers = (tl.exp(matrix[0] - first),)
    if REST > 0:
        powers += (
            tl.exp(matrix[1] - (rest if AXIS == 1 else first)),
            tl.exp(matrix[2] - (first if AXIS == 1 else rest)),
            tl.exp(matrix[3] - rest),
        )
    return powers


@triton.jit
def column_of(matrix, k, TAGS: tl.constexpr, REST: tl.constexpr):
    """Returns the vector of the entries for moves to tag k."""
    tag = tl.arange(0, TAGS)[None, :]
    column = tl.sum(tl.where(tag == k, matrix[0], 0.0), 1)
    if REST > 0:
        tag_of_rest = TAGS + tl.arange(0, REST)[None, :]
        column += tl.sum(tl.where(tag_of_rest == k, matrix[1], 0.0), 1)
        of_rest = tl.sum(tl.where(tag == k, matrix[2], 0.0), 1)
        of_rest += tl.sum(tl.where(tag_of_rest == k, matrix[3], 0.0), 1)
        column = _joined(column, of_rest, 0.0, TAGS, REST)
    return column


@triton.jit
def finite(scores):
    """Returns `scores` with 0 in place of -inf."""
    return tl.where(scores == IMPOSSIBLE, 0.0, scores)
