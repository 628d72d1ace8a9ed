"""Weighting of the chain rule's factors."""

import torch

from tagger.linear_chain import ChainScores, step_log_conditionals
from tagger.modules.tag_weighting.tag_weighting import TagWeighting


@TagWeighting.register("chain")
class ChainWeighting(TagWeighting):
    """Each token's conditional log-probability weighted by its gold tag.

    The objective is `sum_t c[y_t] log p(y_t | y_{t-1}, x)`: by the chain rule of the CRF's own
    distribution, the log-likelihood, with each factor weighted. It is never positive, 0 only where the
    gold path is certain, and at equal weights the log-likelihood, times the weight.

    Raising a label's weight raises its recall and lowers its precision: its tokens cost more when
    they are missed. A token's weight bears upon the step that leads to it, so that a wrong step away
    from an entity is charged to the tag after it.

    A token whose label is a set weighs the mean of the set's weights, and its factor is the
    probability of the set given the labels before.
    """

    def _weighted_log_likelihood(
        self, scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        steps = step_log_conditionals(scores, tags, mask)
        return (self.token_weights(tags, mask) * steps).sum(1)
