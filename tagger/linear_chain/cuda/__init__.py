"""The functions of `tagger.linear_chain.reference`, computed by Triton kernels on CUDA tensors.

The best of k > 1 paths, second derivatives, the derivatives of forward and of backward scores, and
chains of more than 128 tags go through the reference.
"""

from tagger.linear_chain.cuda.decoding import k_best_decode, sample_paths
from tagger.linear_chain.cuda.normalizers import (
    log_likelihood,
    log_partition,
    step_log_likelihoods,
    step_log_normalizers,
)
from tagger.linear_chain.cuda.posteriors import (
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
