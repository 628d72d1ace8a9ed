"""Linear-chain answers by enumeration: a table of all paths' scores, reduced in many ways."""

import itertools
from typing import List

import torch

from tagger.linear_chain import ChainScores


class EnumeratedChain:
    """One sequence, all of whose paths are written out.

    Args:
        scores: a batch of chains.
        row: which sequence of the batch.
        num_tokens: how many of its tokens are real.
    """

    def __init__(self, scores: ChainScores, row: int, num_tokens: int) -> None:
        emissions, transitions, start, end = (tensor.double().tolist() for tensor in scores)
        self.num_tags = len(start)
        self.num_tokens = num_tokens
        self.paths = list(itertools.product(range(self.num_tags), repeat=num_tokens))

        def steps(path: tuple) -> List[float]:
            arrivals = [start[path[0]]] + [transitions[i][j] for i, j in zip(path, path[1:])]
            return [emissions[row][t][k] + arrivals[t] for t, k in enumerate(path)]

        self.step_scores = {}
        self.prefix_log_partitions = []
        for length in range(1, num_tokens + 1):
            prefixes = itertools.product(range(self.num_tags), repeat=length)
            prefix_scores = [sum(steps(prefix)) for prefix in prefixes]
            self.prefix_log_partitions.append(_log_sum(prefix_scores))
        for path in self.paths:
            path_steps = steps(path) if path else []
            if path:
                path_steps[-1] += end[path[-1]]
            self.step_scores[path] = path_steps
        # (P,) and (P, T)
        self.path_scores = torch.tensor(
            [sum(self.step_scores[path]) for path in self.paths], dtype=torch.float64
        )
        self.path_tags = torch.tensor(self.paths).view(len(self.paths), num_tokens)

    def log_partition(self) -> torch.Tensor:
        return torch.logsumexp(self.path_scores, 0)

    def step_log_normalizers(self) -> torch.Tensor:
        partitions = self.prefix_log_partitions[:-1] + [float(self.log_partition())]
        partitions = torch.tensor([0.0] + partitions, dtype=torch.float64)
        return partitions.diff()

    def tag_marginals(self) -> torch.Tensor:
        """(T, K)."""
        one_hot = torch.nn.functional.one_hot(self.path_tags.long(), self.num_tags).double()
        return torch.einsum("p,ptk->tk", self.path_scores.softmax(0), one_hot)

    def transition_marginals(self) -> torch.Tensor:
        """(T - 1, K, K)."""
        one_hot = torch.nn.functional.one_hot(self.path_tags.long(), self.num_tags).double()
        probabilities = self.path_scores.softmax(0)
        return torch.einsum("p,pti,ptj->tij", probabilities, one_hot[:, :-1], one_hot[:, 1:])

    def log_probability(self, allowed: torch.Tensor) -> torch.Tensor:
        """log p(each token t has a tag of the set `allowed[t]`), `allowed` being (T, K) bool."""
        is_inside = allowed.gather(1, self.path_tags.t().long()).all(0)
        # The log-sum over no paths is -inf.
        return torch.logsumexp(self.path_scores[is_inside], 0) - self.log_partition()

    def k_best(self, k: int) -> list:
        """The k best `(score, path)`, best first."""
        return sorted(zip(self.path_scores.tolist(), self.paths), reverse=True)[:k]

    def forward_scores(self, scores: ChainScores, row: int) -> torch.Tensor:
        """(T, K): the log-sum over the prefixes that end in each tag."""
        emissions, transitions, start, _ = (tensor.double() for tensor in scores)
        rows = []
        for length in range(1, self.num_tokens + 1):
            ending = [[] for _ in range(self.num_tags)]
            for prefix in itertools.product(range(self.num_tags), repeat=length):
                score = start[prefix[0]] + sum(emissions[row, t, k] for t, k in enumerate(prefix))
                score += sum(transitions[i, j] for i, j in zip(prefix, prefix[1:]))
                ending[prefix[-1]].append(float(score))
            rows.append([_log_sum(group) for group in ending])
        return torch.tensor(rows, dtype=torch.float64)


def _log_sum(values: List[float]) -> float:
    return float(torch.logsumexp(torch.tensor(values, dtype=torch.float64), 0))
