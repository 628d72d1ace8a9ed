"""What Numba kernels are made with: compilation and threads, exponentials, products of tiles."""
