"""Weighting of tag marginals."""

from typing import Any

import torch

from tagger.linear_chain import ChainScores, step_log_marginals
from tagger.linear_chain.log_space import total_of
from tagger.modules.focal_factor import check_gamma, focal_log_probabilities
from tagger.modules.tag_weighting.tag_weighting import TagWeighting


@TagWeighting.register("marginal")
class MarginalWeighting(TagWeighting):
    """Each token's log-marginal weighted by its gold tag: a token loss on a CRF.

    The objective is `sum_t c[y_t] (1 - p_t)^gamma log p_t`, where `p_t = p(y_t | x)` is the marginal of
    the gold tag (Kakade, Teh & Roweis 2002, "An alternate objective function for Markovian fields").
    `gamma` above 0 lowers the weight of tokens that the model has learnt, as the focal loss does (Lin
    et al. 2017, "Focal loss for dense object detection"). The objective is never positive. It looks at
    each token by itself. So even with unit weights and `gamma` 0 it is not the log-likelihood of the
    path, except for sequences of one token.

    Raising a label's weight raises its recall and lowers its precision. Training fits the marginals,
    which thresholds and minimum-risk decoding use, rather than the best path.

    For partial labels, a token weighs the mean of its set of tags, and `p_t` is the sum over the set: 1
    where the tag is unknown, which then counts for nothing.

    Args:
        gamma: At least 0; 0 leaves the focal factor out.
        **kwargs: The arguments of `ClassWeights`; by default all tags weigh 1.

    Raises:
        ConfigurationError: If `gamma` is negative or not finite, or as `ClassWeights` does.
    """

    _weights_are_required = False

    def __init__(self, gamma: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        self.gamma = gamma

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        # (B, T)
        weights = self.token_weights(gold_tags, mask)
        if not self.gamma:
            return step_log_marginals(scores, gold_tags, mask, weights)
        steps = focal_log_probabilities(step_log_marginals(scores, gold_tags, mask), self.gamma)
        return total_of(weights * steps)
