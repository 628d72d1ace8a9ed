"""How far a share may be from the truth, given how many cases it rests on."""

import math
from typing import Tuple

#: The quantile of the normal distribution for intervals of 95 %.
_Z = 1.959963984540054


def wilson_interval(num_right: int, num_total: int) -> Tuple[float, float]:
    """Returns the 95 % interval of a share, by its score test (Wilson 1927).

    It fits small numbers and shares of 0 and 1 too. It assumes independent cases that were not chosen
    for their share: after tuning on the same cases, the truth tends to lie lower.

    Args:
        num_right: How many cases are right.
        num_total: How many cases there are; without any, the interval is from 0 to 1.

    Example:
        >>> low, high = wilson_interval(5, 5)
        >>> f"{low:.4f} to {high:.4f}"
        '0.5655 to 1.0000'
    """
    if num_total == 0:
        return 0.0, 1.0
    share = num_right / num_total
    shrinkage = 1 + _Z**2 / num_total
    middle = (share + _Z**2 / (2 * num_total)) / shrinkage
    variance = share * (1 - share) / num_total + (_Z / (2 * num_total)) ** 2
    reach = _Z * math.sqrt(variance) / shrinkage
    return max(middle - reach, 0.0), min(middle + reach, 1.0)
