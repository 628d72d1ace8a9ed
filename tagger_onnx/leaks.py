"""What a tagger's prediction misses, from the scores of its chain, as `tagger.spans.missed` computes it.

Letters: `B` texts, `T` tokens, `K` tags, `S` states, `N` entities.
"""

from typing import Any, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

#: Below all scores, but finite, so that no difference of infinities arises.
_LOWEST = -1e300


class Predicted(NamedTuple):
    """An entity of a prediction."""

    label: str
    row: int
    first: int
    last: int


class PlacedChain:
    """A linear chain whose states are tags together with their place in an entity.

    Attributes:
        labels: The labels, sorted; `_` stands for entities without a label.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._tags = np.array(description["tags"], dtype=np.int64)
        self._labels = np.array([label or "" for label in description["labels"]])
        self._opens = np.array(description["opens"], dtype=bool)
        self._closes = np.array(description["closes"], dtype=bool)
        self._transitions = _scores(description["transitions"])
        self._start, self._end = _scores(description["start"]), _scores(description["end"])
        self.labels = sorted(set(self._labels.tolist()) - {""})

    def missed(
        self,
        emissions: np.ndarray,
        lengths: np.ndarray,
        predicted: Sequence[Predicted],
        labels: Sequence[str],
    ) -> Tuple[np.ndarray, np.ndarray]:
        """How probable it is that a prediction misses an entity, and how many it is expected to miss.

        Args:
            emissions: (B, T, K), the scores of tags.
            lengths: (B,) int64, at least 1 each.
            predicted: The entities of the prediction, of all labels.
            labels: The labels that count.

        Returns:
            (B,) each.
        """
        # (B, T, S) float64
        scores = emissions.astype(np.float64)[:, :, self._tags]
        counted = [each for each in predicted if each.label in labels]
        is_counted = np.isin(self._labels, labels)
        allowed = np.broadcast_to(~is_counted, scores.shape).copy()
        for label, row, first, last in counted:
            for token in range(first, last + 1):
                allowed[row, token] |= self._states(label, token == first, token == last)
        forward = self._forward(scores, lengths)
        backward = self._backward(scores, lengths)
        log_partitions = self._total(forward, lengths)
        log_none = self._total(self._forward(np.where(allowed, scores, -np.inf), lengths), lengths)
        is_real = np.arange(scores.shape[1]) < lengths[:, np.newaxis]
        shares = np.exp(forward + backward - log_partitions[:, np.newaxis, np.newaxis])
        opening = shares[:, :, is_counted & self._opens].sum(2)
        expected = np.where(is_real, opening, 0.0).sum(1)
        for label, row, first, last in counted:
            states = self._states(label, True, first == last)
            messages = np.where(states, forward[row, first], -np.inf)
            for token in range(first + 1, last + 1):
                states = self._states(label, False, token == last)
                messages = _log_sums(messages, self._transitions) + scores[row, token]
                messages = np.where(states, messages, -np.inf)
            total = _log_sum(messages + backward[row, last])
            expected[row] -= np.exp(total - log_partitions[row])
        leaks = -np.expm1(np.minimum(log_none - log_partitions, 0))
        return leaks, np.maximum(expected, 0)

    def _states(self, label: str, opens: bool, closes: bool) -> np.ndarray:
        """The states of tokens in this place of an entity of this label, (S,) bool."""
        return (self._labels == label) & (self._opens == opens) & (self._closes == closes)

    def _forward(self, scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The log-sum of prefixes, (B, T, S), those of the last token in the padding."""
        forward = np.empty_like(scores)
        forward[:, 0] = self._start + scores[:, 0]
        for token in range(1, scores.shape[1]):
            arriving = _log_sums(forward[:, token - 1], self._transitions) + scores[:, token]
            is_real = (token < lengths)[:, np.newaxis]
            forward[:, token] = np.where(is_real, arriving, forward[:, token - 1])
        return forward

    def _backward(self, scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The log-sum of suffixes, (B, T, S), that of the end in the padding."""
        backward = np.empty_like(scores)
        backward[:, -1] = self._end
        for token in range(scores.shape[1] - 2, -1, -1):
            following = scores[:, token + 1] + backward[:, token + 1]
            leaving = _log_sums(following, self._transitions.T)
            has_next = (token + 1 < lengths)[:, np.newaxis]
            backward[:, token] = np.where(has_next, leaving, self._end)
        return backward

    def _total(self, forward: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return _log_sum(forward[np.arange(len(lengths)), lengths - 1] + self._end)


def _scores(values: Sequence[Any]) -> np.ndarray:
    """Scores, in which null, which becomes NaN, stands for what is impossible."""
    scores = np.array(values, dtype=np.float64)
    return np.where(np.isnan(scores), -np.inf, scores)


def _log_sums(scores: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """`log sum_i exp(scores[i] + transitions[i, j])`, (..., S)."""
    return _log_sum(scores[..., np.newaxis] + transitions, axis=-2)


def _log_sum(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """The log-sum over an axis, -inf where all scores are."""
    peak = np.maximum(scores.max(axis, keepdims=True), _LOWEST)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(scores - peak).sum(axis))
    return total + peak.squeeze(axis)
