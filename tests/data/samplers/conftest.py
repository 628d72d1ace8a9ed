import random

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _same_draws_in_every_test():
    np.random.seed(0)
    random.seed(0)
