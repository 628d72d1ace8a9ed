"""Weighting of the chain rule's factors."""

import torch

from tagger.linear_chain import ChainScores, step_log_conditionals
from tagger.modules.tag_weighting.tag_weighting import TagWeighting


@TagWeighting.register("chain")
class ChainWeighting(TagWeighting):
    """Each token's conditional log-probability weighted by its gold tag.

    The objective is `sum_t c[y_t] log p(y_t | y_{t-1}, x)`: the log-likelihood by the chain rule of the
    CRF's own distribution, with each factor weighted. It is never positive, and 0 only where the gold
    path is certain. With equal weights it is the log-likelihood times the weight.

    Raising a label's weight raises its recall and lowers its precision: its tokens cost more when they
    are missed. A token's weight applies to the step that leads to it. So a wrong step away from an
    entity is charged to the tag after it.

    For partial labels, a token weighs the mean of its set of tags, and its factor is the probability of
    the set given the labels before.
    """

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        weights = self.token_weights(gold_tags, mask)
        return step_log_conditionals(scores, gold_tags, mask, weights)
