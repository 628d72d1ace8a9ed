"""The implementation for CUDA: Triton kernels."""
