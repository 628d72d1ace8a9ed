"""A bidirectional LSTM layer: PyTorch's, and for CPUs kernels that keep two cores busy.

- `functions`: the front door, which takes the kernels where they serve and PyTorch elsewhere.
- `autograd`: the layer and its derivative, most of it large products of PyTorch's.
- `kernels`: what is left, the steps that wait for each other, in Numba.
"""

from tagger.lstm.functions import bidirectional_lstm

__all__ = ["bidirectional_lstm"]
