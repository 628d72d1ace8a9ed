"""The chains of all labels as one chain, see `LabelChainsHead` for the letters."""

from typing import TYPE_CHECKING, List, Tuple

import torch

from tagger.linear_chain import ChainScores
from tagger.modules.heads.chain_head import ChainHead

if TYPE_CHECKING:
    from tagger.modules.heads.label_chains import LabelChainsHead


class JointChain(ChainHead):
    """The chains of all labels as one chain over all tags, for what works with any `ChainHead`.

    A row of `as_rows` makes the tags of all other labels impossible, so under this chain
    it has exactly the distribution of its label's chain. This is slow, as slow as a chain over all tags
    for each label, and training and prediction do not use it. It has no parameters.
    """

    #: The head with these chains, in a list so that it does not become a submodule.
    heads: List["LabelChainsHead"]

    @property
    def labels_of_rows(self) -> List[str]:  # type: ignore[override]
        return self.heads[0].labels

    def as_rows(
        self, emissions: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        (head,) = self.heads
        wide = emissions.new_full((*emissions.shape[:2], *head.wide()), -torch.inf)
        for c, (chain, scores) in enumerate(head.chains_of(emissions)):
            wide[:, :, c, head.tag_indices[c]] = chain.chain_scores(scores).emissions
        return head.rows(wide), head.gold_rows(gold_tags, mask), head.rows(mask)

    def gold_rows(self, gold_tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.heads[0].gold_rows(gold_tags, mask)

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        (head,) = self.heads
        size = len(self.tags)
        transitions = emissions.new_full((size, size), -torch.inf)
        start, end = (emissions.new_full((size,), -torch.inf) for _ in range(2))
        for chain, indices in zip(head.by_label, head.tag_indices):
            own = chain.chain_scores(emissions[:, :, indices])
            # Subtracting the same from the score of each path changes no probability. Of all paths of a
            # length, this subtracts the score of `O O O`, so that `O` is the same in all chains.
            transitions[indices.unsqueeze(1), indices] = own.transitions - own.transitions[0, 0]
            start[indices], end[indices] = own.start - own.start[0], own.end - own.end[0]
        return ChainScores(emissions, transitions, start, end)
