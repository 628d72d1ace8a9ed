"""Kernels for the best paths. Scores are summed in float64, whatever their type."""

import numpy as np

from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def _arrive(before: np.ndarray, transitions: np.ndarray, arriving: np.ndarray) -> None:
    """Writes `max_i before[i] + transitions[i, k]`, for a multiple of 4 tags, to the first of two rows.

    The second row of `arriving` is scratch.
    """
    # The two rows are written alternately; the last write must go to the first row.
    source = (len(before) // 4) % 2
    arriving[source].fill(-np.inf)
    # Four tags at a time, to read and write the maxima less often. Two rows, because a loop that
    # updates maxima in place compiles to masked stores, which are slow on some processors.
    for i in range(0, len(before), 4):
        old, new = arriving[source], arriving[1 - source]
        b0, b1, b2, b3 = before[i], before[i + 1], before[i + 2], before[i + 3]
        for k in range(len(before)):
            s0, s1 = b0 + transitions[i, k], b1 + transitions[i + 1, k]
            s2, s3 = b2 + transitions[i + 2, k], b3 + transitions[i + 3, k]
            left = s1 if s1 > s0 else s0
            right = s3 if s3 > s2 else s2
            score = right if right > left else left
            top = old[k]
            new[k] = score if score > top else top
        source = 1 - source


@kernel
def best_rows(
    first: int, last: int, batch: Batch, paths: np.ndarray, path_scores: np.ndarray
) -> None:
    """Writes the best path of rows `first` to `last`.

    Keeps scores instead of back-pointers: the best predecessor of a tag on the path is the first tag
    for which the score, computed again, equals the one that arrived. `paths` are (B, 1, T) int64,
    `path_scores` (B, 1).
    """
    lengths, emissions, transitions, start, end = batch
    num_tokens, num_tags = emissions.shape[1:]
    # Whole vectors of 4 tags; the tags beyond K are impossible.
    width = (num_tags + 3) // 4 * 4
    leaving = np.full((width, width), -np.inf)
    for i in range(num_tags):
        for k in range(num_tags):
            leaving[i, k] = transitions[i, k]
    entering = leaving.T.copy()
    # The score of the best prefix that ends in each tag, without the tag's emission (two rows, the
    # second is scratch) and with it.
    arriving = np.full((num_tokens, 2, width), -np.inf)
    best = np.full((num_tokens, width), -np.inf)
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            continue
        for k in range(num_tags):
            arriving[0, 0, k] = start[k]
        for t in range(n):
            if t > 0:
                _arrive(best[t - 1], leaving, arriving[t])
            for k in range(num_tags):
                best[t, k] = arriving[t, 0, k] + emissions[b, t, k]
        tag, top = 0, -np.inf
        for k in range(num_tags):
            score = best[n - 1, k] + end[k]
            if score > top:
                tag, top = k, score
        path_scores[b, 0] = top
        paths[b, 0, n - 1] = tag
        for t in range(n - 1, 0, -1):
            score, before, into = arriving[t, 0, tag], best[t - 1], entering[tag]
            tag = 0
            while tag < num_tags - 1 and before[tag] + into[tag] != score:
                tag += 1
            paths[b, 0, t - 1] = tag


@kernel
def _offer(score: float, pointer: int, scores: np.ndarray, pointers: np.ndarray) -> bool:
    """Inserts a path into the k best so far, (k,) each; returns whether it is among them."""
    rank = len(scores) - 1
    if not score > scores[rank]:
        return False
    while rank > 0 and score > scores[rank - 1]:
        scores[rank], pointers[rank] = scores[rank - 1], pointers[rank - 1]
        rank -= 1
    scores[rank], pointers[rank] = score, pointer
    return True


@kernel
def k_best_rows(
    first: int, last: int, batch: Batch, paths: np.ndarray, path_scores: np.ndarray
) -> None:
    """Like `best_rows`, for the k best paths: `paths` (B, k, T) and `path_scores` (B, k)."""
    lengths, emissions, transitions, start, end = batch
    num_tokens, num_tags = emissions.shape[1:]
    k_best = path_scores.shape[1]
    # The scores of the k best prefixes that end in each tag; pointers hold tag * k + rank of the
    # prefixes that they extend.
    best, extended = np.empty((num_tags, k_best)), np.empty((num_tags, k_best))
    pointers = np.zeros((num_tokens, num_tags, k_best), np.int64)
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            # An empty row has only one path.
            path_scores[b, 1:] = -np.inf
            continue
        best.fill(-np.inf)
        for j in range(num_tags):
            best[j, 0] = np.float64(start[j]) + emissions[b, 0, j]
        for t in range(1, n):
            extended.fill(-np.inf)
            pointers[t].fill(0)
            for j in range(num_tags):
                for i in range(num_tags):
                    for rank in range(k_best):
                        score = best[i, rank] + transitions[i, j]
                        if not _offer(score, i * k_best + rank, extended[j], pointers[t, j]):
                            break
            for j in range(num_tags):
                for rank in range(k_best):
                    best[j, rank] = extended[j, rank] + emissions[b, t, j]
        final_scores = np.full(k_best, -np.inf)
        final_pointers = np.zeros(k_best, np.int64)
        for j in range(num_tags):
            for rank in range(k_best):
                score = best[j, rank] + end[j]
                if not _offer(score, j * k_best + rank, final_scores, final_pointers):
                    break
        for place in range(k_best):
            path_scores[b, place] = final_scores[place]
            pointer = final_pointers[place]
            for t in range(n - 1, -1, -1):
                tag, rank = pointer // k_best, pointer % k_best
                paths[b, place, t] = tag
                pointer = pointers[t, tag, rank]
