"""The backend for CPUs: Numba kernels, compiled at the first call and cached on disk.

Derivatives of transition marginals, of forward and of backward scores come from the reference.
"""

from tagger.linear_chain.backend import Backend
from tagger.linear_chain.cpu import primitives

BACKEND = Backend(
    steps=primitives.steps,
    arrivals=primitives.arrivals,
    best_paths=primitives.best_paths,
    samples=primitives.samples,
    weighted=primitives.weighted,
    marginals=primitives.marginals,
    conditionals=primitives.conditionals,
    transition_marginals=primitives.transition_marginals,
)
