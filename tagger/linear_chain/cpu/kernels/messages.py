"""Forward messages of a row, in probability space or, where they underflow, in log space.

All arithmetic is float64, whatever the type of the scores. Messages are probabilities, normalised at
every token; the largest score of each token and of the transitions is subtracted first. This is exact
as long as no message underflows: a tag may be 250 orders of magnitude less probable than another and
still lead to the only likely path. A row in which a message underflows is computed again in log space,
which is slow.

Letters: `n` is the number of real tokens of a row; see `batch` for `B`, `T`, `K`.
"""

from typing import NamedTuple, Tuple

import numpy as np

from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.kernels.compilation import kernel
from tagger.linear_chain.kernels.exponentials import exp, log_sum, normalize

# Smaller messages count as underflow. The product of such a message and a transition that underflows
# is smaller by a factor of 1e-58 than any product that counts.
TINY = 1e-250


class SharedScores(NamedTuple):
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


class RowScratch(NamedTuple):
    """Scratch for one row. `arriving` and `messages` hold logarithms if the row is in log space."""

    # (T, K), the sum over the tags of the token before, without the emission
    arriving: np.ndarray
    # (T, K), the distribution of the tag given the prefix
    messages: np.ndarray
    # (T, K), the derivative by the emission
    adjoint: np.ndarray
    # (T,)
    log_normalizers: np.ndarray


@kernel
def peak_of(scores: np.ndarray) -> float:
    """The largest number of a vector, 0 if all are -inf; faster than NumPy's `max`."""
    even, odd = -np.inf, -np.inf
    for k in range(0, len(scores) - 1, 2):
        even = scores[k] if scores[k] > even else even
        odd = scores[k + 1] if scores[k + 1] > odd else odd
    peak = max(even, odd, scores[-1])
    return peak if peak > -np.inf else 0.0


@kernel
def _shifted_exponentials(transitions: np.ndarray) -> Tuple[np.ndarray, float]:
    """The exponentials of (K, K) scores minus their maximum, and the maximum."""
    peak = peak_of(transitions.ravel())
    exponentials = np.empty(transitions.shape)
    for i in range(len(transitions)):
        for j in range(len(transitions)):
            exponentials[i, j] = exp(transitions[i, j] - peak)
    return exponentials, peak


@kernel
def shared_scores_of(batch: Batch, from_the_end: bool) -> SharedScores:
    """Returns the scores that all tokens share.

    If rows are read `from_the_end`, transitions are transposed, and start and end scores swapped.
    """
    transitions, start, end = batch.transitions, batch.start, batch.end
    if from_the_end:
        transitions, start, end = np.ascontiguousarray(transitions.T), end, start
    leaving, transition_peak = _shifted_exponentials(transitions)
    end_peak = peak_of(end)
    closing = np.empty(len(end))
    for k in range(len(end)):
        closing[k] = exp(end[k] - end_peak)
    return SharedScores(
        transitions, start, end, leaving, leaving.T.copy(), transition_peak, closing, end_peak
    )


@kernel
def new_row(num_tokens: int, num_tags: int) -> RowScratch:
    """Returns uninitialised scratch."""
    return RowScratch(
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty(num_tokens),
    )


@kernel
def solve_row(chain: SharedScores, emissions: np.ndarray, row: RowScratch) -> Tuple[int, bool]:
    """Fills `row`, in log space if a message underflows in probability space.

    `row.adjoint` is filled only at the last token that a path reaches, with the distribution of its
    tag. `emissions` are (n, K), n > 0.

    Returns:
        How many tokens a path reaches (the last only if a path may end there), and whether the row is
        in log space.
    """
    reached = forward_row(chain, emissions, row)
    if reached >= 0:
        return reached, False
    return forward_row_in_log_space(chain, emissions, row), True


@kernel
def forward_row(chain: SharedScores, emissions: np.ndarray, row: RowScratch) -> int:
    """Like `solve_row`, in probability space only; returns -1 if a message underflows."""
    num_tokens, num_tags = emissions.shape
    start_peak = peak_of(chain.start)
    for t in range(num_tokens):
        message, arriving = row.messages[t], row.arriving[t]
        if t == 0:
            shift = start_peak
            for k in range(num_tags):
                arriving[k] = exp(chain.start[k] - start_peak)
        else:
            shift = chain.transition_peak
            before = row.messages[t - 1]
            for k in range(num_tags):
                total = 0.0
                for i in range(num_tags):
                    total += before[i] * chain.entering[k, i]
                arriving[k] = total
        peak = peak_of(emissions[t])
        for k in range(num_tags):
            message[k] = arriving[k] * exp(emissions[t, k] - peak)
        total = 0.0
        num_tiny = 0
        for k in range(num_tags):
            total += message[k]
            num_tiny += message[k] < TINY
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
def _underflows(chain: SharedScores, emissions: np.ndarray, row: RowScratch, t: int) -> bool:
    """Whether the message of a possible tag at token t is too small."""
    for k in range(len(chain.start)):
        if row.messages[t, k] >= TINY or emissions[t, k] == -np.inf:
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
def _close(chain: SharedScores, num_tokens: int, row: RowScratch) -> int:
    """Adds the end scores if all tokens of a row are reached; returns what `forward_row` returns."""
    t = num_tokens - 1
    message, last = row.messages[t], row.adjoint[t]
    for k in range(len(chain.end)):
        last[k] = message[k] * chain.closing[k]
    total = 0.0
    for k in range(len(chain.end)):
        total += last[k]
    if total < TINY:
        for k in range(len(chain.end)):
            if message[k] > 0.0 and chain.end[k] > -np.inf:
                return -1
        return _stop(row, t, num_tokens)
    for k in range(len(chain.end)):
        last[k] /= total
    row.log_normalizers[t] += np.log(total) + chain.end_peak
    return num_tokens


@kernel
def _stop(row: RowScratch, t: int, num_tokens: int) -> int:
    """Marks the tokens from t on as reached by no path; returns t."""
    for later in range(t, num_tokens):
        row.log_normalizers[later] = -np.inf
    if t > 0:
        for k in range(row.messages.shape[1]):
            row.adjoint[t - 1, k] = row.messages[t - 1, k]
    return t


@kernel
def forward_row_in_log_space(chain: SharedScores, emissions: np.ndarray, row: RowScratch) -> int:
    """Like `forward_row`, but for any scores, in log space."""
    num_tokens, num_tags = emissions.shape
    terms = np.empty(num_tags)
    for t in range(num_tokens):
        for k in range(num_tags):
            row.arriving[t, k] = chain.start[k]
            if t > 0:
                for i in range(num_tags):
                    terms[i] = row.messages[t - 1, i] + chain.transitions[i, k]
                row.arriving[t, k] = log_sum(terms)
            row.messages[t, k] = row.arriving[t, k] + emissions[t, k]
        log_total = normalize(row.messages[t])
        if log_total == -np.inf:
            break
        row.log_normalizers[t] = log_total
        for k in range(num_tags):
            row.adjoint[t, k] = np.exp(row.messages[t, k])
    else:
        closed = row.messages[t] + chain.end
        closing = normalize(closed)
        if closing != -np.inf:
            row.log_normalizers[t] += closing
            for k in range(num_tags):
                row.adjoint[t, k] = np.exp(closed[k])
            return num_tokens
    for later in range(t, num_tokens):
        row.log_normalizers[later] = -np.inf
    return t


@kernel
def log_before(chain: SharedScores, row: RowScratch, t: int, k: int, before: np.ndarray) -> None:
    """Writes log p(tag at t - 1 | prefix, tag k at t), (K,), of a row in log space; k is reached."""
    for i in range(len(before)):
        before[i] = row.messages[t - 1, i] + chain.transitions[i, k]
    normalize(before)
