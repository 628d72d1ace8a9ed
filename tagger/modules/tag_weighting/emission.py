"""Weighting by scaling emissions."""

from typing import Any

import torch

from tagger.linear_chain import ChainScores, log_likelihood
from tagger.modules.tag_weighting.tag_weighting import TagWeighting


@TagWeighting.register("emission")
class EmissionWeighting(TagWeighting):
    """Training with emissions scaled by tag: `e'[t, k] = c[k] e[t, k]` in the score and in log Z.

    Raising a label's weight raises its precision and lowers its recall, the reverse of what most people
    expect. Training sees the label's emissions enlarged, so smaller ones suffice, and decoding then uses
    these as they are. The path that decoding prefers need not be the one that training ranks first,
    unless `weighted_decoding` is set.

    The objective is the log-likelihood under the distribution of the scaled scores. For partial labels
    it is the log-probability of all paths that the labels allow.

    Args:
        weighted_decoding: Whether to scale the emissions in decoding too.
        **kwargs: The arguments of `ClassWeights`.
    """

    def __init__(self, weighted_decoding: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.weighted_decoding = weighted_decoding

    def scaled(self, scores: ChainScores) -> ChainScores:
        """The scores of the distribution under which training maximises the likelihood."""
        return scores._replace(emissions=scores.emissions * self.tag_weights)

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return log_likelihood(self.scaled(scores), gold_tags, mask)

    def decoding_scores(self, scores: ChainScores) -> ChainScores:
        return self.scaled(scores) if self.weighted_decoding else scores
