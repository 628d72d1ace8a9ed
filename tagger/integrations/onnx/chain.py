"""The recurrences of a linear chain in ONNX: the computations of `tagger.linear_chain` in float64."""

from typing import NamedTuple, Optional, Tuple

import numpy as np

from tagger.integrations.onnx.graph import Operand, Value

# Lower than any score, but finite, so that infinities are never subtracted from each other.
_LOWEST = np.float64(-1e300)


class Nodes(NamedTuple):
    """A batch of right-padded linear chains with scores in float64."""

    # (B, T, K)
    emissions: Value
    # (B, T) bool each; `is_last` is true at the last token of each sequence
    mask: Value
    is_last: Value
    # constants: (K, K), (K,), (K,)
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray
    # Whether scores more than 700 nats below the largest matter; costs K times as many exponentials.
    has_rare_paths: bool = False


def forward_scores(chain: Nodes) -> Value:
    """The log-sum of all prefixes that end in each tag, (B, T, K); undefined in the padding."""

    def step(before: Value, is_first: Value, emissions: Value) -> Tuple[list, list]:
        scores = is_first.where(chain.start, log_sums(before, chain)) + emissions
        return [scores], [scores]

    first = zeros_like_first(chain.emissions), "float64"
    sequences = [(_is_first(chain), "bool"), (chain.emissions, "float64")]
    return chain.mask.graph.scan(step, [first], sequences, ["float64"])[1]


def backward_scores(chain: Nodes) -> Value:
    """The log-sum of all suffixes behind each tag, (B, T, K); undefined in the padding."""

    def step(following: Value, is_last: Value, emissions: Value) -> Tuple[list, list]:
        leaving = is_last.where(chain.end, log_sums(following, chain, backwards=True))
        return [leaving + emissions], [leaving]

    first = zeros_like_first(chain.emissions), "float64"
    sequences = [(chain.is_last.unsqueeze(2), "bool"), (chain.emissions, "float64")]
    return chain.mask.graph.scan(step, [first], sequences, ["float64"], backwards=True)[1]


def log_partition(chain: Nodes, backward: Value) -> Value:
    """The log-sum of all paths, (B, 1), given the backward scores."""
    return log_sum(_first_token(chain.emissions + backward) + chain.start, keepdims=True)


def tag_marginals(forward: Value, backward: Value) -> Value:
    """The probability of each tag at each token, (B, T, K) float64; undefined in the padding."""
    return (forward + backward).op("Softmax", axis=2)


def viterbi_tags(chain: Nodes) -> Value:
    """Returns the best path, (B, T) int64, 0 in the padding. Ties go to the lower tag index."""

    def step(before: Value, is_first: Value, is_real: Value, emissions: Value) -> Tuple[list, list]:
        # (B, K, K): from, to
        candidates = before.unsqueeze(2) + chain.transitions
        arriving = is_first.where(chain.start, candidates.reduce("Max", 1))
        pointers = candidates.op("ArgMax", axis=1, keepdims=0)
        # In the padding, the best scores are kept and each tag points to itself.
        every_tag = np.arange(len(chain.start))
        best = is_real.where(arriving + emissions, before)
        return [best], [is_real.where(pointers, every_tag)]

    def trace(tags: Value, pointers: Value) -> Tuple[list, list]:
        return [pointers.take_along(tags)], [tags]

    scan = chain.mask.graph.scan
    first = zeros_like_first(chain.emissions), "float64"
    sequences = [
        (_is_first(chain), "bool"),
        (chain.mask.unsqueeze(2), "bool"),
        (chain.emissions, "float64"),
    ]
    best, pointers = scan(step, [first], sequences, ["int64"])
    last = (best + chain.end).op("ArgMax", axis=1, keepdims=1)
    _, tags = scan(trace, [(last, "int64")], [(pointers, "int64")], ["int64"], backwards=True)
    return chain.mask.where(tags.squeeze(2), np.int64(0))


def zeros_like_first(values: Value) -> Value:
    """Returns zeros with the shape of the first token's values, (B, K) float64."""
    return _first_token(values) * np.float64(0)


def log_sum(scores: Value, keepdims: bool = False) -> Value:
    """The log-sum over the last axis; -inf where all scores are -inf."""
    maximum = _maximum(scores)
    total = (scores - maximum).op("Exp").reduce("Sum", -1, keepdims=True).op("Log") + maximum
    return total if keepdims else total.squeeze(-1)


def log_sums(scores: Value, chain: Nodes, backwards: bool = False) -> Value:
    """`log sum_i exp(scores[i] + transitions[i, j])`, (B, K); `backwards`, over transitions from j."""
    transitions = chain.transitions.T if backwards else chain.transitions
    if chain.has_rare_paths:
        # (B, K, K): to, from
        return log_sum(scores.unsqueeze(1) + transitions.T)
    # As a matrix product, so that only B * K numbers are exponentiated.
    largest = np.maximum(transitions.max(0), _LOWEST)
    maximum = _maximum(scores)
    weights = (scores - maximum).op("Exp")
    return weights.op("MatMul", np.exp(transitions - largest)).op("Log") + maximum + largest


def shifted_left(values: Value, last: Optional[Operand] = None) -> Value:
    """The next token's values, (B, T, ...); at the end `last`, or the last token's own values."""
    own = values.slice(-1, None)
    if last is not None:
        own = values.graph.value(np.array(False)).where(own, last)
    return values.slice(1, None).op("Concat", own, axis=1)


def shifted_right(values: Value, first: Operand) -> Value:
    """The previous token's values, (B, T, ...); at the start `first`, (1, 1, ...)."""
    own = values.graph.value(np.array(False)).where(values.slice(0, 1), first)
    return own.op("Concat", values.slice(0, -1), axis=1)


def _is_first(chain: Nodes) -> Value:
    """(1, T, 1) bool, true at the first token."""
    return chain.mask.places(1).equals(np.int64(0)).unsqueeze(0, 2)


def _first_token(values: Value) -> Value:
    """The values of the first token, (B, K), of (B, T, K)."""
    return values.gather(np.int64(0), axis=1)


def _maximum(scores: Value) -> Value:
    """The largest score along the last axis, which is kept; always finite."""
    return scores.reduce("Max", -1, keepdims=True).op("Max", _LOWEST)
