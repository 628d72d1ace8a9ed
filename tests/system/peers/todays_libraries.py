"""A pytest plugin for torch-struct's tests, which were written for older libraries."""

import hypothesis.extra.numpy as hypothesis_numpy
import numpy as np
import torch

_arrays = hypothesis_numpy.arrays
hypothesis_numpy.arrays = lambda dtype, shape, elements: _arrays(dtype, shape, elements=elements)
np.float = np.float64
# In float32, a divergence near 0 has few correct digits in any implementation.
torch.set_default_dtype(torch.float64)
