"""Linear-chain conditional random fields as pure functions of their scores.

Letters: `B` batch, `T` tokens, `K` tags. All scores and `log_` quantities are in nats.
"""

from typing import TYPE_CHECKING, Any

from tagger.linear_chain import implementations
from tagger.linear_chain.chain_scores import ChainScores, allowed_tags
from tagger.linear_chain.cross_entropy import ChainMarginals, chain_cross_entropy, chain_marginals
from tagger.linear_chain.functions import (
    backward_scores,
    compacted,
    forward_scores,
    k_best_decode,
    log_likelihood,
    log_partition,
    sample_paths,
    sequence_score,
    step_log_conditionals,
    step_log_likelihoods,
    step_log_marginals,
    step_log_normalizers,
    step_scores,
    tag_marginals,
    transition_marginals,
    viterbi_decode,
)
from tagger.linear_chain.implementations import use_implementation
from tagger.linear_chain.span_search import Spellings
from tagger.linear_chain.spans import ProbableSpans, probable_spans, span_log_probabilities
from tagger.linear_chain.values import check_is_right_padded

if TYPE_CHECKING:
    from types import ModuleType

    #: The implementations by name; each has the functions of `reference`.
    IMPLEMENTATIONS: dict[str, ModuleType]

__all__ = [
    "IMPLEMENTATIONS",
    "ChainMarginals",
    "ChainScores",
    "ProbableSpans",
    "Spellings",
    "allowed_tags",
    "backward_scores",
    "chain_cross_entropy",
    "chain_marginals",
    "check_is_right_padded",
    "compacted",
    "forward_scores",
    "k_best_decode",
    "log_likelihood",
    "log_partition",
    "probable_spans",
    "sample_paths",
    "sequence_score",
    "span_log_probabilities",
    "step_log_conditionals",
    "step_log_likelihoods",
    "step_log_marginals",
    "step_log_normalizers",
    "step_scores",
    "tag_marginals",
    "transition_marginals",
    "use_implementation",
    "viterbi_decode",
]


if not TYPE_CHECKING:  # else type checkers would accept any name

    def __getattr__(name: str) -> Any:
        if name == "IMPLEMENTATIONS":  # imports the kernels
            return implementations.IMPLEMENTATIONS
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
