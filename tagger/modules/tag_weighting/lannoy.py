"""Weighting of the steps of the forward algorithm, after De Lannoy et al. (2012)."""

import logging
from typing import Sequence

import torch

from tagger.linear_chain import ChainScores, step_log_likelihoods
from tagger.modules.tag_weighting.tag_weighting import TagWeighting

logger = logging.getLogger(__name__)


@TagWeighting.register("lannoy")
class LannoyWeighting(TagWeighting):
    """Each token's score and log-normaliser weighted by its gold tag.

    The objective is `sum_t c[y_t] (e[t, y_t] + A[y_{t-1}, y_t] - log z_t)`, with `s[y_1]` in the first
    term and `q[y_T]` in the last. The step log-normalisers `log z_t` sum to log Z (De Lannoy et al.
    2012, "Weighted conditional random fields for supervised interpatient heartbeat classification",
    section II). With equal weights it is the log-likelihood times the weight.

    It is not a distribution, and for unequal weights it has no upper bound: scores can grow without end
    while the loss falls. Judge the model by its metrics, and stop early. Published curves of precision
    and recall over the weight are erratic. AllenNLP's version weights a transition by the tag moved
    from, and its normaliser by the tag moved to; here the weight of the tag moved to applies to both.

    For partial labels, a token weighs the mean of its set of tags, and the log-normalisers of the chain
    that the labels allow take the place of the scores.
    """

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        weights = self.token_weights(gold_tags, mask)
        return step_log_likelihoods(scores, gold_tags, mask, weights)

    def _set_weights(self, weights: Sequence[float]) -> None:
        super()._set_weights(weights)
        if len(set(weights)) > 1:
            logger.warning(
                "weighting 'lannoy' with unequal weights has no upper bound: the loss may fall below "
                "zero and without end; judge the model by its metrics, and stop early"
            )
