"""Fits the correction of probabilities by label to entities that are known to be right or wrong.

Letters: `N` entities, `C` labels.
"""

from typing import Optional

import numpy as np
import torch

from tagger.modules.recalibration import corrected_log_odds

#: How far labels together may be from no correction, and each label from all together: the standard
#: deviations of normal priors on log a, log b and c. Chosen on WNUT-17, see docs/how_to/new_data.md.
SHARED, BY_LABEL = 1.0, 0.5


def fit_recalibration(
    probabilities: np.ndarray,
    is_right: np.ndarray,
    labels: np.ndarray,
    num_labels: int,
    weights: Optional[np.ndarray] = None,
) -> np.ndarray:
    """Returns the most probable coefficients, (C, 3), see `tagger.modules.recalibration`.

    A few sentences have few entities of a label, so labels learn from each other: their coefficients
    have a normal prior around shared ones, and these have one around no correction. With many entities
    the priors do not matter.

    `probabilities`, `is_right` and `labels` are (N,), and `weights` says how often each entity counts.
    """
    p, right, of_entity = map(torch.from_numpy, (probabilities, is_right.astype(float), labels))
    weight = torch.ones_like(right) if weights is None else torch.from_numpy(weights).double()
    shared = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    by_label = torch.zeros(num_labels, 3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [shared, by_label], max_iter=200, tolerance_change=1e-7, line_search_fn="strong_wolfe"
    )

    def coefficients() -> torch.Tensor:
        logs = shared + by_label
        return torch.cat([logs[:, :2].exp(), logs[:, 2:]], dim=1)

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        losses = torch.nn.functional.binary_cross_entropy_with_logits(
            corrected_log_odds(p, coefficients()[of_entity]), right, weight, reduction="sum"
        )
        priors = (shared / SHARED).square().sum() + (by_label / BY_LABEL).square().sum()
        total = losses + priors / 2
        total.backward()
        return total

    optimizer.step(loss)
    return coefficients().detach().numpy()
