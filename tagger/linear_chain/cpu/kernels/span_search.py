"""The kernel that searches for probable spans: see `tagger.linear_chain.span_search`.

Letters: `B` rows (sequences), `T` tokens, `K` tags, `C` labels, `N` spans.
"""

import numpy as np

from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def span_rows(
    first: int,
    last: int,
    batch: Batch,
    forward: np.ndarray,
    backward: np.ndarray,
    tags: np.ndarray,
    continuing: np.ndarray,
    log_least: float,
    places: np.ndarray,
    counts: np.ndarray,
    spans: np.ndarray,
    log_probabilities: np.ndarray,
) -> None:
    """Counts the probable spans of rows, and writes them if there is room.

    The time grows with the number of pairs of tokens between which a span of some label is probable, at
    most with the number of tokens times the length of the longest such span.

    - `forward` and `backward` are `Messages`, `tags` and `continuing` are `Spellings`;
    - `log_least` is the least log-probability;
    - `places`, (B,) int64: where the spans of each row begin in `spans`;
    - `counts`, (B,) int64, get the number of spans;
    - `spans`, (N, 4) int64, and `log_probabilities`, (N,); both empty if spans are only counted.
    """
    num_labels = len(tags)
    emissions, transitions = batch.emissions, batch.transitions
    # (C,): the log-share of the prefixes in which a span of the label is still open
    scores_open = np.empty(num_labels)
    writes = len(spans) > 0
    for b in range(first, last):
        n, place = batch.lengths[b], places[b]
        for begin in range(n):
            num_open = 0
            for t in range(begin, n):
                if t > begin and num_open == 0:
                    break
                num_open = 0
                for c in range(num_labels):
                    if t > begin and scores_open[c] == -np.inf:
                        continue
                    closing_tag, going_tag = tags[c, 2], tags[c, 1]
                    if t == begin:
                        closing_tag, going_tag = tags[c, 3], tags[c, 0]
                    before = tags[c, 0] if t == begin + 1 else tags[c, 1]
                    if closing_tag >= 0:
                        if t == begin:
                            score = forward[b, t, closing_tag]
                        else:
                            score = scores_open[c] + transitions[before, closing_tag]
                            score += emissions[b, t, closing_tag]
                        # Only some of all suffixes may follow a closed span.
                        if score + backward[b, t, closing_tag] >= log_least:
                            score += _behind(batch, backward, continuing, b, t, c, closing_tag)
                            if score >= log_least:
                                if writes:
                                    spans[place, 0], spans[place, 1] = b, begin
                                    spans[place, 2], spans[place, 3] = t, c
                                    log_probabilities[place] = score
                                place += 1
                    score = -np.inf
                    if going_tag >= 0:
                        if t == begin:
                            score = forward[b, t, going_tag]
                        else:
                            score = scores_open[c] + transitions[before, going_tag]
                            score += emissions[b, t, going_tag]
                        if score + backward[b, t, going_tag] >= log_least:
                            num_open += 1
                        else:
                            score = -np.inf
                    scores_open[c] = score
        counts[b] = place - places[b]


@kernel
def _behind(
    batch: Batch, backward: np.ndarray, continuing: np.ndarray, b: int, t: int, c: int, tag: int
) -> float:
    """The log-sum of the suffixes after a span of label c that ends in a tag at token t of row b."""
    if t == batch.lengths[b] - 1:
        return batch.end[tag]
    peak = -np.inf
    for k in range(len(batch.end)):
        if not continuing[c, k]:
            score = batch.transitions[tag, k] + batch.emissions[b, t + 1, k] + backward[b, t + 1, k]
            peak = max(peak, score)
    if peak == -np.inf:
        return peak
    total = 0.0
    for k in range(len(batch.end)):
        if not continuing[c, k]:
            score = batch.transitions[tag, k] + batch.emissions[b, t + 1, k] + backward[b, t + 1, k]
            total += np.exp(score - peak)
    return peak + np.log(total)
