"""The functions of `tagger.linear_chain.reference`, computed by Numba kernels on CPU tensors.

Second derivatives, and the derivatives of transition marginals, of forward and of backward scores, are
taken through the reference; so is what the kernels cannot compute in probability space.
"""

from tagger.linear_chain.cpu.decoding import k_best_decode, sample_paths
from tagger.linear_chain.cpu.normalizers import (
    log_likelihood,
    log_partition,
    step_log_likelihoods,
    step_log_normalizers,
)
from tagger.linear_chain.cpu.posteriors import (
    backward_scores,
    forward_scores,
    step_log_conditionals,
    step_log_marginals,
    tag_marginals,
    transition_marginals,
)
from tagger.linear_chain.reference import step_scores

__all__ = [
    "backward_scores",
    "forward_scores",
    "k_best_decode",
    "log_likelihood",
    "log_partition",
    "sample_paths",
    "step_log_conditionals",
    "step_log_likelihoods",
    "step_log_marginals",
    "step_log_normalizers",
    "step_scores",
    "tag_marginals",
    "transition_marginals",
]
