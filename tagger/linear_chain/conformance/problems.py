"""Small random problems, and their answers by enumeration in float64.

This code shares nothing with our implementations of the chain.

Letters: `B` sequences, `T` tokens, `N` real tokens, `K` tags, `P` paths.
"""

import itertools
from typing import Callable, Iterator, NamedTuple, Sequence, Tuple

import torch

from tagger.linear_chain.chain_scores import ChainScores


class Problem(NamedTuple):
    """One small sequence, or a batch of them, in float32.

    Attributes:
        scores: Emissions (B, T, K), transitions (K, K), start (K,) and end (K,).
        mask: (B, T) bool, true at real tokens.
    """

    scores: ChainScores
    mask: torch.Tensor

    @property
    def size(self) -> int:
        """How large it is, to find the smallest counterexample."""
        return self.mask.numel() * len(self.scores.start)

    def __str__(self) -> str:
        rows = ", ".join("".join(str(int(real)) for real in row) for row in self.mask.tolist())
        return f"{len(self.scores.start)} tags, mask {rows or 'empty'}"


def path_scores(problem: Problem) -> Tuple[torch.Tensor, torch.Tensor]:
    """All paths through the real tokens of the first row, and their scores, (K ** N,) float64."""
    emissions, transitions, start, end = (each.detach().double() for each in problem.scores)
    emissions = emissions[0][problem.mask[0]]
    num_tokens = len(emissions)
    every_path = list(itertools.product(range(len(start)), repeat=num_tokens))
    # (K ** N, N)
    paths = torch.tensor(every_path, dtype=torch.int64).view(len(every_path), num_tokens)
    scores = emissions[torch.arange(num_tokens), paths].sum(1)
    if num_tokens:
        scores = scores + start[paths[:, 0]] + end[paths[:, -1]]
        scores = scores + transitions[paths[:, :-1], paths[:, 1:]].sum(1)
    return paths, scores


def log_probabilities(problem: Problem) -> Tuple[torch.Tensor, torch.Tensor]:
    """All paths of the first row, (P, N), and their log-probabilities, (P,) float64."""
    paths, scores = path_scores(problem)
    return paths, scores.log_softmax(0)


def scattered(paths: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Paths through the real tokens as tags of all tokens, (P, T), 0 at masked ones."""
    tags = torch.zeros(len(paths), mask.shape[1], dtype=torch.int64)
    tags[:, mask[0]] = paths
    return tags


def score_scale(problem: Problem) -> float:
    """The largest finite size of a score, at least 1."""
    finite = torch.cat([each.detach().flatten() for each in problem.scores])
    finite = finite[finite.isfinite()]
    return max(1.0, float(finite.abs().max()) if len(finite) else 1.0)


def mask_of(*rows: str) -> torch.Tensor:
    """A mask, (B, T) bool, of rows such as `"1101"`."""
    return torch.tensor([[real == "1" for real in row] for row in rows])


def random_problems(
    masks: Sequence[torch.Tensor], num_tags: Sequence[int] = (2, 3), scale: float = 1.0
) -> Callable[[torch.Generator], Iterator[Problem]]:
    """Endless problems with normally distributed scores, cycling through masks and numbers of tags."""

    def draw(generator: torch.Generator) -> Iterator[Problem]:
        for mask, number in itertools.cycle(itertools.product(masks, num_tags)):
            shapes = ((*mask.shape, number), (number, number), (number,), (number,))
            scores = (scale * torch.randn(shape, generator=generator) for shape in shapes)
            yield Problem(ChainScores(*scores), mask)

    return draw


def with_impossible(generator: torch.Generator) -> Iterator[Problem]:
    """Problems in which tag 1 may not follow tag 0, and one emission is impossible."""
    for problem in random_problems([mask_of("111"), mask_of("11110")])(generator):
        emissions, transitions, start, end = (each.clone() for each in problem.scores)
        transitions[0, 1] = emissions[0, 1, 0] = -torch.inf
        yield Problem(ChainScores(emissions, transitions, start, end), problem.mask)
