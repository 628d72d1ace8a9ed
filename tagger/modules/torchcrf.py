"""A replacement for pytorch-crf 0.7.2: `from tagger.modules.torchcrf import CRF` instead of `torchcrf`.

It needs torch and Numba, not AllenNLP.
"""

from typing import List, Optional

import torch

from tagger.linear_chain import (
    ChainScores,
    compacted,
    log_likelihood,
    tag_marginals,
    viterbi_decode,
)
from tagger.modules.tag_weighting import TagWeighting

__all__ = ["CRF"]

#: How `forward` turns one value per sequence into its result.
_REDUCTIONS = ("none", "sum", "mean", "token_mean")


class CRF(torch.nn.Module):
    """A linear-chain CRF with pytorch-crf's constructor, methods and parameter names.

    Trained weights can be exchanged in both directions with `load_state_dict`. Results are the same,
    except where a mask has a hole: here a masked token is absent wherever it stands, so the tokens
    before and after it are neighbours, and the probabilities of all paths sum to 1. TorchScript is not
    supported; `torch.compile` is.

    Letters: `B` sequences, `T` tokens, `K` tags.

    Args:
        num_tags: K.
        batch_first: Whether tensors are (B, T, ...) instead of (T, B, ...).
        weighting: How to weight the tags in training, such as
            `TagWeighting.by_name("chain")(tag_weights=[1.0, 2.0])`; None for the plain likelihood.

    Raises:
        ValueError: If `num_tags` is below 1, or `weighting` has another number of weights.

    Example:
        >>> crf = CRF(num_tags=3, batch_first=True)
        >>> loss = -crf(torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.int64), reduction="mean")
        >>> [len(path) for path in crf.decode(torch.zeros(2, 4, 3))]
        [4, 4]
    """

    def __init__(
        self, num_tags: int, batch_first: bool = False, weighting: Optional[TagWeighting] = None
    ) -> None:
        if num_tags < 1:
            raise ValueError(f"invalid number of tags: {num_tags}; `num_tags` must be at least 1")
        super().__init__()
        tag_weights = None if weighting is None else weighting.tag_weights
        if tag_weights is not None and len(tag_weights) != num_tags:
            raise ValueError(
                f"`weighting` must have one weight for each of the {num_tags} tags; "
                f"got {len(tag_weights)}"
            )
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.weighting = weighting
        self.start_transitions = torch.nn.Parameter(torch.empty(num_tags))
        self.end_transitions = torch.nn.Parameter(torch.empty(num_tags))
        self.transitions = torch.nn.Parameter(torch.empty(num_tags, num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new transition scores, uniformly between -0.1 and 0.1 as pytorch-crf does."""
        for parameter in (self.start_transitions, self.end_transitions, self.transitions):
            torch.nn.init.uniform_(parameter, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_tags={self.num_tags})"

    def forward(
        self,
        emissions: torch.Tensor,
        tags: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        reduction: str = "sum",
    ) -> torch.Tensor:
        """The (weighted) log-likelihood of the gold tags, to be maximised.

        Args:
            emissions: (T, B, K), or (B, T, K) with `batch_first`, the score of each tag at each token.
            tags: (T, B) or (B, T) int64, the gold tags; -1 where a tag is unknown.
            mask: (T, B) or (B, T), true at real tokens; None if every token is real.
            reduction: "sum" or "mean" over sequences, "token_mean" for the sum divided by the number of
                real tokens, or "none" for one value per sequence, (B,).

        Raises:
            ValueError: If shapes do not fit, a tag is out of range, a sequence has no real token, or
                `reduction` is unknown.
        """
        self._check(emissions, mask, tags)
        if reduction not in _REDUCTIONS:
            raise ValueError(f"invalid reduction: {reduction}; expected {', '.join(_REDUCTIONS)}")
        scores, mask = self._chain(emissions, mask)
        tags = tags if self.batch_first else tags.transpose(0, 1)
        if self.weighting is None:
            values = log_likelihood(scores, tags, mask)
        else:
            self.weighting.check_weights()
            values = self.weighting.objective(scores, tags.long(), mask)
        if reduction == "none":
            return values
        if reduction == "mean":
            return values.mean()
        return values.sum() / mask.sum() if reduction == "token_mean" else values.sum()

    def decode(
        self, emissions: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> List[List[int]]:
        """The best path of each sequence, with a tag for each real token; errors as in `forward`."""
        self._check(emissions, mask)
        scores, mask = self._chain(emissions, mask)
        compact, lengths = compacted(scores.emissions, mask)
        scores = scores._replace(emissions=compact)
        if self.weighting is not None:
            scores = self.weighting.decoding_scores(scores)
        paths, _ = viterbi_decode(scores, lengths)
        return [path[:length] for path, length in zip(paths.tolist(), lengths.tolist())]

    def marginals(
        self, emissions: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """The probability of each tag at each token, without weighting; pytorch-crf has none.

        It has the shape of `emissions`, sums to 1 over tags at real tokens and is 0 at masked ones.
        Differentiable.
        """
        self._check(emissions, mask)
        marginals = tag_marginals(*self._chain(emissions, mask))
        return marginals if self.batch_first else marginals.transpose(0, 1)

    def _chain(
        self, emissions: torch.Tensor, mask: Optional[torch.Tensor]
    ) -> tuple[ChainScores, torch.Tensor]:
        """The scores, with emissions (B, T, K), and the mask, (B, T) bool."""
        if mask is None:
            mask = torch.ones(emissions.shape[:2], dtype=torch.bool, device=emissions.device)
        if not self.batch_first:
            emissions, mask = emissions.transpose(0, 1), mask.transpose(0, 1)
        scores = ChainScores(
            emissions, self.transitions, self.start_transitions, self.end_transitions
        )
        return scores, mask.bool()

    def _check(
        self,
        emissions: torch.Tensor,
        mask: Optional[torch.Tensor],
        tags: Optional[torch.Tensor] = None,
    ) -> None:
        """Raises errors that contain pytorch-crf's messages, for programs that look for these."""
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise ValueError(
                f"expected last dimension of emissions is {self.num_tags}, got {emissions.size(2)}"
            )
        for name, other in (("tags", tags), ("mask", mask)):
            if other is not None and other.shape != emissions.shape[:2]:
                raise ValueError(
                    f"the first two dimensions of emissions and {name} must match, "
                    f"got {tuple(emissions.shape[:2])} and {tuple(other.shape)}"
                )
        if mask is not None and not bool(mask.bool().any(1 if self.batch_first else 0).all()):
            raise ValueError(
                "`mask` has a sequence without a real token; drop such rows, or make at least one token "
                "real (pytorch-crf: mask of the first timestep must all be on)"
            )
