"""What all weighting strategies of a CRF share, and the method that they implement."""

import torch
from allennlp.common import Registrable

from tagger.linear_chain import ChainScores
from tagger.modules.tag_weights import TagWeights


class TagWeighting(TagWeights, Registrable):
    """Weights the tags of a linear-chain CRF during training.

    The arguments are those of `TagWeights`, which say what the weights are. A strategy implements
    `_weighted_log_likelihood`.
    """

    tag_weights: torch.Tensor

    def weighted_log_likelihood(
        self, scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """What training maximises, for each sequence.

        At unit weights, and without other options, it is the log-likelihood under every strategy but
        `marginal`. Of labels that leave tags open, see the strategy.

        Args:
            scores: of B sequences over K tags.
            tags: (B, T) int64, the gold tags, -1 where unknown; or (B, T, K) bool, the set of tags that
                each token may have.
            mask: (B, T) bool, right-padded.

        Returns:
            (B,), differentiable with respect to the scores.

        Raises:
            RuntimeError: if `weight_rule` has not been given counts.
        """
        self.check_weights()
        return self._weighted_log_likelihood(scores, tags, mask)

    def _weighted_log_likelihood(
        self, scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """As `weighted_log_likelihood`, the weights being known."""
        raise NotImplementedError

    def decoding_scores(self, scores: ChainScores) -> ChainScores:
        """The scores to decode with: the plain ones, unless a strategy says otherwise."""
        return scores
