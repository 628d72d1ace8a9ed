"""What all weighting strategies of a CRF share, and the method that each implements."""

import torch

from tagger.common.from_allennlp import Registrable
from tagger.linear_chain import ChainScores
from tagger.linear_chain.checks import tags_as_int64
from tagger.modules.class_weights import ClassWeights


class TagWeighting(ClassWeights, Registrable):
    """Weights the tags of a linear-chain CRF during training.

    It takes the arguments of `ClassWeights`. A strategy implements `objective`.
    """

    tag_weights: torch.Tensor

    def weighted_log_likelihood(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """What training maximises, for each sequence.

        With unit weights and no other options it is the log-likelihood, except under `marginal`. For
        partial labels, see each strategy.

        Args:
            scores: Of B sequences over K tags.
            gold_tags: (B, T) integers, -1 where unknown; or (B, T, K) bool, the set of tags that each
                token may have.
            mask: (B, T) bool, true at real tokens.

        Returns:
            (B,), differentiable with respect to the scores; -inf without a gradient where the gold tags
            are impossible.

        Raises:
            RuntimeError: If `weight_rule` has not been given counts.
            TypeError: If `gold_tags` are neither integers nor bool.
        """
        self.check_weights()
        return self.objective(scores, tags_as_int64(gold_tags), mask)

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """`weighted_log_likelihood`, once the weights are known; tags of a path are int64."""
        raise NotImplementedError

    def decoding_scores(self, scores: ChainScores) -> ChainScores:
        """The scores to decode with: the plain ones, unless a strategy changes them."""
        return scores
