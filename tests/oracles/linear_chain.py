"""Linear-chain answers by enumeration, as plain numbers: `AllPaths` without gradients."""

from typing import Dict, List, Tuple

import torch

from tagger.linear_chain import ChainScores
from tests.oracles.all_paths import AllPaths


class EnumeratedChain:
    """One sequence, all of whose paths are written out.

    Args:
        scores: A batch of chains.
        row: Which sequence of the batch.
        num_tokens: How many of its tokens are real.
    """

    def __init__(self, scores: ChainScores, row: int, num_tokens: int) -> None:
        detached = ChainScores(*(tensor.detach() for tensor in scores))
        self._table = AllPaths(detached, row, range(num_tokens))
        self.num_tags = self._table.num_tags
        self.num_tokens = num_tokens
        # (P,) and (P, T)
        self.path_scores, self.path_tags = self._table.path_scores, self._table.tags
        self.paths: List[Tuple[int, ...]] = [tuple(path) for path in self.path_tags.tolist()]
        self.step_scores: Dict[Tuple[int, ...], List[float]] = {
            path: self._table.step_scores(path).tolist() for path in self.paths
        }

    def log_partition(self) -> torch.Tensor:
        return self._table.log_mass()

    def step_log_normalizers(self) -> torch.Tensor:
        return self._table.step_log_normalizers()

    def tag_marginals(self) -> torch.Tensor:
        """(T, K)."""
        return self._table.tag_marginals()

    def transition_marginals(self) -> torch.Tensor:
        """(T - 1, K, K)."""
        return self._table.transition_marginals()

    def log_probability(self, allowed: torch.Tensor) -> torch.Tensor:
        """log p(each token t has a tag of the set `allowed[t]`), `allowed` being (T, K) bool."""
        return self._table.log_probability(allowed)

    def k_best(self, k: int) -> List[Tuple[float, Tuple[int, ...]]]:
        """The k best `(score, path)`, best first."""
        return self._table.k_best(k)

    def forward_scores(self) -> torch.Tensor:
        """(T, K): the log-sum over the prefixes that end in each tag."""
        return self._table.forward_scores()
