"""Goals for tuning the decoding of a tagger, and for promises about it."""

from typing import NamedTuple, Sequence, Tuple

import numpy as np

from tagger.metrics.label_metrics import macro_average, precision_recall_f1

#: What may be promised: shares for several labels together, of which two are of groups, and others.
OF_GROUPS = ("leak", "unmasked")
OF_MASKS = ("unmasked", "masked")
OF_SEVERAL = ("leak", *OF_MASKS)
PROMISED = ("precision", "recall", "f_beta", *OF_SEVERAL)


class Goal(NamedTuple):
    """A goal for one or several labels."""

    labels: Tuple[str, ...]  # One label; several for a measure of `OF_SEVERAL`
    # `"precision"`: the highest recall at a precision of at least `level`. `"recall"`: the highest
    # precision at a recall of at least `level`. `"f_beta"`: the highest F score (van Rijsbergen
    # 1979, chapter 7), or for promises one of at least `level`. `"macro_f1"`: the highest mean
    # F1 of all labels. `"leak"`: a share of groups of sentences in which the prediction misses an
    # entity of the labels. `"unmasked"`: a share of groups with a token of such an entity that is not
    # masked (see `Masking`). `"masked"`: the share of entities without such a token.
    measure: str
    level: float = 0.0  # The least share; the largest for a measure of `OF_GROUPS`
    beta: float = 1.0  # How much more recall counts than precision in an F score

    @property
    def label(self) -> str:
        """The first label, which is the only one unless this is a goal for several."""
        return self.labels[0]

    @property
    def least(self) -> float:
        """The least share that must be right; for a leak, of groups that do not leak."""
        return 1 - self.level if self.measure in OF_GROUPS else self.level

    def at_least(self, least: float) -> "Goal":
        """Returns this goal with a different `least`."""
        return self._replace(level=1 - least if self.measure in OF_GROUPS else least)

    def merit(self, counts: np.ndarray, labels: Sequence[str]) -> Tuple[bool, float, float]:
        """Returns whether the goal is met, and two numbers for comparison: higher is better.

        The counts are (3, C): true positives, predicted and gold entities of all labels.
        """
        precision, recall, _ = precision_recall_f1(counts[:, labels.index(self.label)]).tolist()
        if self.measure == "macro_f1":
            return True, macro_average(counts)[2], precision
        if self.measure == "f_beta":
            (right,), (total,) = self.counts(counts[..., np.newaxis], labels)
            return True, right / max(total, 1e-9), precision
        of_goal, other = (precision, recall) if self.measure == "precision" else (recall, precision)
        return (True, other, of_goal) if of_goal >= self.level else (False, of_goal, other)

    def counts(self, by_group: np.ndarray, labels: Sequence[str]) -> Tuple[np.ndarray, np.ndarray]:
        """Returns numerator and denominator of the share for each group, (groups,) each.

        An F score is a share too: `(1 + beta^2) right / (predicted + beta^2 gold)`. Counts by group
        are (3, C, groups): true positives, predicted and gold entities of all labels; for masks
        (2, C, groups): masked and all gold entities.
        """
        right, *predicted, gold = by_group[:, [labels.index(label) for label in self.labels]]
        if self.measure == "masked":
            return right.sum(0), gold.sum(0)
        if self.measure in OF_GROUPS:
            return (right == gold).all(0), np.ones(right.shape[1])
        if self.measure == "f_beta":
            weight = self.beta**2
            return right[0] * (1 + weight), predicted[0][0] + weight * gold[0]
        return right[0], (predicted[0] if self.measure == "precision" else gold)[0]

    def __str__(self) -> str:
        labels = ", ".join(self.labels)
        if self.measure == "leak":
            return f"a share of at most {self.level:g} that misses any {labels}"
        if self.measure == "unmasked":
            return f"a share of at most {self.level:g} that leaves a token of any {labels} unmasked"
        if self.measure == "masked":
            return f"a share of at least {self.level:g} of all {labels} masked"
        name = f"F{self.beta:g}" if self.measure == "f_beta" else self.measure
        return f"{name} of {labels} at least {self.level:g}"
