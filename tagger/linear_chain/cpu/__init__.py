"""The implementation for CPUs: Numba kernels."""
