"""Corrects the probabilities of entities by label, with a monotone map that keeps their order.

The map is that of beta calibration (Kull et al. 2017, "Beta calibration: a well-founded and easily
implemented improvement on logistic calibration for binary classifiers"), with three coefficients
a, b > 0 and c: the log-odds of a corrected probability are `a log p - b log(1 - p) + c`. With a = b = 1
and c = 0 nothing changes. A probability of 1 counts as `LARGEST`.

Letters: `N` entities, `C` labels.
"""

from typing import Dict, List, Sequence

import torch

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.ranges import is_number
from tagger.common.vocabulary import check_is_label

#: The coefficients that change nothing.
IDENTITY = (1.0, 1.0, 0.0)
#: The largest probability below 1 in float32.
LARGEST = 1 - 2.0**-24


def log_odds_terms(probabilities: torch.Tensor) -> torch.Tensor:
    """What a, b and c are multiplied by in corrected log-odds, (3, N) float64."""
    p = probabilities.double().clamp(1 - LARGEST, LARGEST)
    return torch.stack([p.log(), -(-p).log1p(), torch.ones_like(p)])


def corrected_log_odds(probabilities: torch.Tensor, coefficients: torch.Tensor) -> torch.Tensor:
    """The log-odds of corrected probabilities, (N,) float64; each entity has coefficients, (N, 3)."""
    of_a, of_b, _ = log_odds_terms(probabilities)
    a, b, c = coefficients.unbind(-1)
    return a * of_a + b * of_b + c


class Recalibration:
    """The correction of the probabilities of entities of C labels.

    Args:
        labels: The labels; `_` stands for entities without one.
        coefficients: Three numbers by label, see above; other labels are not corrected. As an
            attribute, (C, 3) float64.
    """

    def __init__(self, labels: Sequence[str], coefficients: Dict[str, List[float]]) -> None:
        known = dict.fromkeys(labels)
        for label, numbers in coefficients.items():
            check_is_label("recalibration", label, known)
            if not (
                isinstance(numbers, (list, tuple))
                and len(numbers) == 3
                and all(map(is_number, numbers))
                and min(numbers[:2]) > 0
            ):
                raise ConfigurationError(
                    f"`recalibration` gives `{label}` {numbers!r}; it must be three numbers, the first "
                    f"two above 0, as `tune-decoding --recalibrate` writes them"
                )
        rows = [list(coefficients.get(label, IDENTITY)) for label in labels]
        self.coefficients = torch.tensor(rows, dtype=torch.float64).view(-1, 3)

    def __call__(self, probabilities: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Returns corrected probabilities, (N,), of entities of these labels, (N,) int64."""
        coefficients = self.coefficients.to(probabilities.device)[labels]
        return corrected_log_odds(probabilities, coefficients).sigmoid().to(probabilities.dtype)
