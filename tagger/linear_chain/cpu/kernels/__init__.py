"""Numba kernels, each over a range of rows of a batch."""
