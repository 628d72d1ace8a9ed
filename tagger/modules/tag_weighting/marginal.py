"""Weighting of tag marginals."""

from typing import Any

import torch

from tagger.linear_chain import ChainScores, step_log_marginals
from tagger.modules.focusing import check_gamma, focused
from tagger.modules.tag_weighting.tag_weighting import TagWeighting


@TagWeighting.register("marginal")
class MarginalWeighting(TagWeighting):
    """Each token's log-marginal weighted by its gold tag: a token loss on a CRF.

    The objective is `sum_t c[y_t] (1 - p_t)^gamma log p_t` with `p_t = p(y_t | x)`, the marginal of
    the gold tag (Kakade, Teh & Roweis 2002, "An alternate objective function for Markovian fields");
    `gamma` above 0 takes weight from tokens that are learnt already, as the focal loss does (Lin et al.
    2017, "Focal loss for dense object detection"). It is never positive. It scores each token by
    itself, so that even at unit weights and `gamma` 0 it is not the log-likelihood of the path: that
    of a sequence of one token is the same, others differ.

    Raising a label's weight raises its recall and lowers its precision. It fits marginals, which
    thresholds and minimum-risk decoding use, rather than the best path.

    A token whose label is a set weighs the mean of the set's weights, and `p_t` is the sum over the
    set: 1 where the tag is unknown, which then counts for nothing.

    Args:
        gamma: at least 0; 0 leaves the focusing out.
        **kwargs: those of `TagWeighting`, which say what the weights are; all weigh 1 by default.

    Raises:
        ConfigurationError: also if `gamma` is negative.
    """

    _weights_are_required = False

    def __init__(self, gamma: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        self.gamma = gamma

    def _weighted_log_likelihood(
        self, scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        # (B, T)
        steps = focused(step_log_marginals(scores, tags, mask), self.gamma)
        return (self.token_weights(tags, mask) * steps).sum(1)
