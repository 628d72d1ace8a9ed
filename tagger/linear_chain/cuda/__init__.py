"""The backend for CUDA: Triton kernels.

Marginals and conditionals are composed of relative arrivals. The k > 1 best paths, chains of more than
128 tags, second derivatives, and the derivatives of forward and of backward scores come from the
reference.
"""

from tagger.linear_chain.backend import Backend
from tagger.linear_chain.cuda import primitives

BACKEND = Backend(
    steps=primitives.steps,
    arrivals=primitives.arrivals,
    best_paths=primitives.best_paths,
    samples=primitives.samples,
)
