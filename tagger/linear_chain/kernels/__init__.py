"""Tools for Numba kernels: compilation, threads and exponentials."""
