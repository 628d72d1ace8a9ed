"""The chains of all labels, and the same as one chain; see `label_chains` for the letters."""

from typing import Any, Iterator, List, Sequence, Tuple, cast

import torch

from tagger.linear_chain import ChainScores
from tagger.modules.heads.chain import Chain
from tagger.modules.heads.chain_head import ChainHead


class LabelChains(torch.nn.ModuleList):
    """The head of each label; what is appended must be in the order of the labels.

    Args:
        labels: The labels.
        tag_indices: (C, K): where the tags of each chain are among all tags, `O` first.
        num_tags: The number of all tags.

    Attributes:
        labels: The labels.
        size: The numbers of labels and of all tags.
    """

    tag_indices: torch.Tensor

    def __init__(self, labels: Sequence[str], tag_indices: torch.Tensor, num_tags: int) -> None:
        super().__init__()
        self.labels, self.size = list(labels), (len(labels), num_tags)
        self.register_buffer("tag_indices", tag_indices, persistent=False)

    @property
    def by_label(self) -> List[ChainHead]:
        """The head of each label, in the order of `labels`; a `CrfHead` except in an ensemble."""
        return cast(List[ChainHead], list(self))

    def with_emissions(self, emissions: torch.Tensor) -> Iterator[Tuple[ChainHead, torch.Tensor]]:
        """Yields the head of each label and its emissions, (B, T, K), given (B, T, N)."""
        for chain, indices in zip(self.by_label, self.tag_indices):
            yield chain, emissions[:, :, indices]

    def gold_of_chains(self, gold_tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns the tags that chains may have, (B, T, C) int64, or (B, T, C, K) bool for sets.

        The integers are tags of the chains, -1 where unknown. `gold_tags` are (B, T, N): 1 and 0 for
        tags that a token has and has not, -1 for those that it may have, such as all tags of unknown
        labels. If several tags of a label are 1, the token has one of them.
        """
        # (B, T, C, K - 1)
        own = gold_tags[:, :, self.tag_indices[:, 1:]]
        has, may_have = own == 1, own == -1
        has_any, may_any = has.any(3), may_have.any(3)
        is_known = has_any & (has.sum(3) == 1) | ~(has_any | may_any)
        is_unknown = may_have.all(3) | ~mask.unsqueeze(2)
        if bool((is_known | is_unknown).all()):
            tags = torch.where(has_any, has.int().argmax(3) + 1, 0)
            return torch.where(is_unknown, -1, tags)
        inside = torch.where(has_any.unsqueeze(3), has, may_have)
        return torch.cat([~has_any.unsqueeze(3), inside], dim=3)

    def rows(self, values: torch.Tensor) -> torch.Tensor:
        """Values (B, T, C, ...), or the same (B, T) for all labels, as rows (B * C, T, ...)."""
        if values.dim() == 2:
            values = values.unsqueeze(2).expand(-1, -1, len(self))
        return values.transpose(1, 2).flatten(0, 1)

    def tag_rows(self, tags: torch.Tensor) -> torch.Tensor:
        """Tags of the chains, (B, T, C), -1 where unknown, as rows of tags among all, (B * C, T)."""
        labels = torch.arange(len(self), device=tags.device)
        return self.rows(torch.where(tags < 0, -1, self.tag_indices[labels, tags.clamp(min=0)]))

    def gold_rows(self, gold_tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns gold tags of `JointChain`, (B * C, T) int64, or (B * C, T, N) bool for sets."""
        gold = self.gold_of_chains(gold_tags, mask)
        if gold.dim() == 3:
            return self.tag_rows(gold)
        wide = torch.zeros(*mask.shape, *self.size, dtype=torch.bool, device=gold.device)
        return self.rows(wide.scatter(3, self.tag_indices.expand_as(gold), gold))


class JointChain(Chain):
    """The chains of all labels as one chain over all tags, for what works with any `Chain`.

    A row of `as_rows` makes the tags of all other labels impossible, so under this chain
    it has exactly the distribution of its label's chain. This is slow, as slow as a chain over all tags
    for each label, and training and prediction do not use it. It has no parameters.
    """

    def __init__(self, chains: LabelChains, *args: Any) -> None:
        super().__init__(*args)
        # In a list so that it does not become a submodule.
        self._chains = [chains]
        self.labels_of_rows = chains.labels

    def as_rows(
        self, emissions: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        (chains,) = self._chains
        wide = emissions.new_full((*emissions.shape[:2], *chains.size), -torch.inf)
        for c, (chain, scores) in enumerate(chains.with_emissions(emissions)):
            wide[:, :, c, chains.tag_indices[c]] = chain.chain_scores(scores).emissions
        return chains.rows(wide), chains.gold_rows(gold_tags, mask), chains.rows(mask)

    def gold_rows(self, gold_tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._chains[0].gold_rows(gold_tags, mask)

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        (chains,) = self._chains
        size = len(self.tags)
        transitions = emissions.new_full((size, size), -torch.inf)
        start, end = (emissions.new_full((size,), -torch.inf) for _ in range(2))
        for chain, indices in zip(chains.by_label, chains.tag_indices):
            own = chain.chain_scores(emissions[:, :, indices])
            # Subtracting the same from the score of each path changes no probability. Of all paths of a
            # length, this subtracts the score of `O O O`, so that `O` is the same in all chains.
            transitions[indices.unsqueeze(1), indices] = own.transitions - own.transitions[0, 0]
            start[indices], end[indices] = own.start - own.start[0], own.end - own.end[0]
        return ChainScores(emissions, transitions, start, end)
