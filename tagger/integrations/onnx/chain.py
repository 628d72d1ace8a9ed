"""The recurrences of a linear chain as ONNX: what `tagger.linear_chain` computes, in float64.

Letters: `B` batch, `T` tokens, `K` tags.
"""

from typing import NamedTuple, Optional, Tuple

import numpy as np

from tagger.integrations.onnx.graph import Graph, Value

# Below all scores, but finite, so that no difference of infinities arises.
_LOWEST = np.float64(-1e300)
# The end of an axis.
_END = np.iinfo(np.int64).max


class Chain(NamedTuple):
    """A batch of right-padded linear chains, whose scores are float64."""

    # (B, T, K)
    emissions: str
    # (B, T) bool each; `is_last` is true at the last token of each sequence
    mask: str
    is_last: str
    # constants: (K, K), (K,), (K,)
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray
    # Whether scores more than 700 nats below the largest count; it costs K times as many exponentials.
    has_rare_paths: bool = False


def forward_scores(graph: Graph, chain: Chain) -> str:
    """The log-sum of all prefixes that end in each tag, (B, T, K); undefined in the padding."""

    def step(body: Graph, before: str, is_first: str, emissions: str) -> Tuple[list, list]:
        arriving = log_sums(body, before, chain)
        arriving = body.add("Where", is_first, chain.start, arriving)
        scores = body.add("Add", arriving, emissions)
        return [scores], [scores]

    nothing = zeros_like_first(graph, chain.emissions)
    sequences = [(_is_first(graph, chain), "bool"), (chain.emissions, "float64")]
    return graph.scan(step, [(nothing, "float64")], sequences, ["float64"])[1]


def backward_scores(graph: Graph, chain: Chain) -> str:
    """The log-sum of all suffixes behind each tag, (B, T, K); undefined in the padding."""

    def step(body: Graph, following: str, is_last: str, emissions: str) -> Tuple[list, list]:
        leaving = log_sums(body, following, chain, backwards=True)
        leaving = body.add("Where", is_last, chain.end, leaving)
        return [body.add("Add", leaving, emissions)], [leaving]

    nothing = zeros_like_first(graph, chain.emissions)
    is_last = graph.add("Unsqueeze", chain.is_last, np.array([2]))
    sequences = [(is_last, "bool"), (chain.emissions, "float64")]
    return graph.scan(step, [(nothing, "float64")], sequences, ["float64"], backwards=True)[1]


def log_partition(graph: Graph, chain: Chain, backward: str) -> str:
    """The log-sum of all paths, (B, 1), given the backward scores."""
    firsts = first_token(graph, graph.add("Add", chain.emissions, backward))
    return log_sum(graph, graph.add("Add", firsts, chain.start))


def tag_marginals(graph: Graph, forward: str, backward: str) -> str:
    """The probability of each tag at each token, (B, T, K) float64; undefined in the padding."""
    return graph.add("Softmax", graph.add("Add", forward, backward), axis=2)


def viterbi_tags(graph: Graph, chain: Chain) -> str:
    """The best path, (B, T) int64, 0 in the padding. Of equal prefixes the first tag's is taken."""

    def step(
        body: Graph, before: str, is_first: str, is_real: str, emissions: str
    ) -> Tuple[list, list]:
        # (B, K, K): from, to
        candidates = body.add(
            "Add", body.add("Unsqueeze", before, np.array([2])), chain.transitions
        )
        arriving = body.add("ReduceMax", candidates, np.array([1]), keepdims=0)
        arriving = body.add("Where", is_first, chain.start, arriving)
        best = body.add("Add", arriving, emissions)
        pointers = body.add("ArgMax", candidates, axis=1, keepdims=0)
        # Beyond the end the best scores stay, and each tag points to itself.
        every_tag = np.arange(len(chain.start))
        return (
            [body.add("Where", is_real, best, before)],
            [body.add("Where", is_real, pointers, every_tag)],
        )

    nothing = zeros_like_first(graph, chain.emissions)
    is_real = graph.add("Unsqueeze", chain.mask, np.array([2]))
    best, pointers = graph.scan(
        step,
        [(nothing, "float64")],
        [(_is_first(graph, chain), "bool"), (is_real, "bool"), (chain.emissions, "float64")],
        ["int64"],
    )
    last = graph.add("ArgMax", graph.add("Add", best, chain.end), axis=1, keepdims=1)

    def trace(body: Graph, tags: str, pointers: str) -> Tuple[list, list]:
        return [body.add("GatherElements", pointers, tags, axis=1)], [tags]

    _, tags = graph.scan(trace, [(last, "int64")], [(pointers, "int64")], ["int64"], backwards=True)
    return graph.add("Where", chain.mask, graph.add("Squeeze", tags, np.array([2])), np.int64(0))


def zeros_like_first(graph: Graph, values: str) -> str:
    """Zeros of the shape of the first token's values, (B, K) float64."""
    return graph.add("Mul", first_token(graph, values), np.float64(0))


def first_token(graph: Graph, values: str) -> str:
    """The values of the first token, (B, K), of (B, T, K)."""
    return graph.add("Gather", values, np.int64(0), axis=1)


def log_sum(graph: Graph, scores: str, keepdims: int = 1) -> str:
    """The log-sum over the last axis, -inf where all scores are."""
    maximum = _maximum(graph, scores)
    shares = graph.add("Exp", graph.add("Sub", scores, maximum))
    total = graph.add("Log", graph.add("ReduceSum", shares, np.array([-1]), keepdims=1))
    total = graph.add("Add", total, maximum)
    return total if keepdims else graph.add("Squeeze", total, np.array([-1]))


def shifted_left(graph: Graph, values: str, last: Optional[Value] = None) -> str:
    """The values of the next token, (B, T, ...), `last` or its own behind the last one."""
    rest, own = _slice(graph, values, 1, _END), _slice(graph, values, -1, _END)
    if last is not None:
        own = graph.add("Where", np.array(False), own, last)
    return graph.add("Concat", rest, own, axis=1)


def shifted_right(graph: Graph, values: str, first: Value) -> str:
    """The values of the token before, (B, T, ...); `first`, (1, 1, ...), comes before the first."""
    own = graph.add("Where", np.array(False), _slice(graph, values, 0, 1), first)
    return graph.add("Concat", own, _slice(graph, values, 0, -1), axis=1)


def _slice(graph: Graph, values: str, start: int, end: int) -> str:
    return graph.add("Slice", values, np.array([start]), np.array([end]), np.array([1]))


def _is_first(graph: Graph, chain: Chain) -> str:
    """(1, T, 1) bool, true at the first token."""
    num_tokens = graph.add("Shape", chain.mask, start=1, end=2)
    places = graph.add("Range", np.int64(0), graph.add("Squeeze", num_tokens), np.int64(1))
    is_first = graph.add("Equal", places, np.int64(0))
    return graph.add("Unsqueeze", is_first, np.array([0, 2]))


def log_sums(graph: Graph, scores: str, chain: Chain, backwards: bool = False) -> str:
    """`log sum_i exp(scores[i] + transitions[i, j])`, (B, K); backwards, of the transitions from j."""
    transitions = chain.transitions.T if backwards else chain.transitions
    if chain.has_rare_paths:
        # (B, K, K): to, from
        pairs = graph.add("Add", graph.add("Unsqueeze", scores, np.array([1])), transitions.T)
        return log_sum(graph, pairs, keepdims=0)
    # A product of matrices, so that only B * K numbers are exponentiated.
    largest = np.maximum(transitions.max(0), _LOWEST)
    maximum = _maximum(graph, scores)
    weights = graph.add("Exp", graph.add("Sub", scores, maximum))
    total = graph.add("Log", graph.add("MatMul", weights, np.exp(transitions - largest)))
    return graph.add("Add", graph.add("Add", total, maximum), largest)


def _maximum(graph: Graph, scores: str) -> str:
    """The largest score of the last axis, which stays, and is finite."""
    return graph.add("Max", graph.add("ReduceMax", scores, np.array([-1]), keepdims=1), _LOWEST)
