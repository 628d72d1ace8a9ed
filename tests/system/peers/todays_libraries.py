"""A plugin of pytest for torch-struct's tests, which were written for older libraries."""

import hypothesis.extra.numpy as hypothesis_numpy
import numpy as np
import torch

_arrays = hypothesis_numpy.arrays
hypothesis_numpy.arrays = lambda dtype, shape, elements: _arrays(dtype, shape, elements=elements)
np.float = np.float64
# A divergence near 0 has few right digits in float32, whoever computes it.
torch.set_default_dtype(torch.float64)
