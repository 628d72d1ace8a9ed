"""Small random problems for the fuzzer: chains, masks and labels at the edges of the allowed."""

import math
from typing import NamedTuple, Sequence

import torch

from tagger.linear_chain import ChainScores

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
ROLES = ChainScores._fields
#: The maximum number of paths of a sequence, all of which are enumerated.
MOST_PATHS = 256


class Problem(NamedTuple):
    """A batch of chains."""

    #: The dtype of the scores under test.
    dtype: str
    #: The scores in float64.
    exact: ChainScores
    #: (B, T) bool, true at real tokens.
    mask: torch.Tensor
    #: Which of the scores require gradients.
    differentiated: Sequence[str] = ROLES

    @property
    def size(self):
        """B, T and K."""
        return tuple(self.exact.emissions.shape)

    def tokens(self, row):
        """The real tokens of a row."""
        return self.mask[row].nonzero()[:, 0].tolist()

    def scores(self):
        """Returns new tensors for the scores under test."""
        rounded = (each.to(DTYPES[self.dtype], copy=True) for each in self.exact)
        named = zip(ROLES, rounded)
        return ChainScores(*(x.requires_grad_(role in self.differentiated) for role, x in named))

    def any_mask(self, rng):
        """Returns the mask in one of the forms that functions accept."""
        forms = [self.mask, self.mask, self.mask.to(torch.uint8)]
        if not (self.mask[:, 1:] & ~self.mask[:, :-1]).any():
            forms.append(self.mask.sum(1))
        if self.mask.all():
            forms.append(None)
        return rng.choice(forms)

    def largest(self):
        """The largest finite absolute score of a real token."""
        scores = self.scores()
        real = scores.emissions[self.mask]
        values = torch.cat([tensor.detach().double().flatten() for tensor in (real, *scores[1:])])
        return float(values[values.isfinite()].abs().max()) if values.isfinite().any() else 0.0


def random_problem(rng):
    """Draws a problem."""
    num_tags = rng.choice([1, 2, 2, 3, 3, 4, 5])
    longest = int(math.log(MOST_PATHS) / math.log(num_tags)) if num_tags > 1 else 6
    num_rows = rng.choice([0, 1, 1, 2, 2, 3])
    num_tokens = rng.choice([0, 1, *range(1, min(longest, 6) + 1)])
    score = _random_score(rng)

    def scores(*shape):
        share = rng.choice([0, 0, 0, 0, 0.2, 0.6])
        number = math.prod(shape)
        drawn = [-math.inf if rng.random() < share else score() for _ in range(number)]
        return torch.tensor(drawn, dtype=torch.float64).view(shape)

    emissions = scores(num_rows, num_tokens, num_tags)
    rows = [_random_mask(rng, num_tokens) for _ in range(num_rows)]
    mask = torch.tensor(rows, dtype=torch.bool).view(num_rows, num_tokens)
    emissions[~mask] = rng.choice([0.0, math.nan, math.inf, -math.inf])
    dtype = rng.choice(["float64", "float64", "float32", "float32", "bfloat16", "float16"])
    shared = (scores(*shape) for shape in ((num_tags, num_tags), (num_tags,), (num_tags,)))
    differentiated = rng.choice([ROLES, ROLES, ROLES, [rng.choice(ROLES)]])
    return Problem(dtype, ChainScores(emissions, *shared), mask, differentiated)


def random_labels(rng, problem, is_path=False):
    """Draws gold tags: a path, a path with unknown tags, or sets. The padding is arbitrary."""
    num_rows, num_tokens, num_tags = problem.size
    kind = "path" if is_path else rng.choice(["path", "path", "unknown", "sets"])
    if kind == "sets":
        sets = torch.zeros(num_rows, num_tokens, num_tags, dtype=torch.bool)
        for row, row_mask in enumerate(problem.mask.tolist()):
            for t, is_real in enumerate(row_mask):
                share = rng.choice([0.0, 0.5, 1.0])
                sets[row, t] = torch.tensor([rng.random() < share for _ in range(num_tags)])
                if is_real:
                    sets[row, t, rng.randrange(num_tags)] = True
        return sets
    unknown_share = 0.4 if kind == "unknown" else 0.0

    def tag(is_real):
        if not is_real:
            return rng.choice([-7, -1, 0, 99])
        return -1 if rng.random() < unknown_share else rng.randrange(num_tags)

    tags = [[tag(is_real) for is_real in row] for row in problem.mask.tolist()]
    dtype = rng.choice([torch.int64, torch.int64, torch.int64, torch.int32, torch.int8])
    return torch.tensor(tags, dtype=dtype).view(num_rows, num_tokens)


def _random_score(rng):
    """Draws scores of one kind."""
    scale = rng.choice([1.0, 1.0, 1.0, 100.0, 1e4])

    def uniform():
        return rng.uniform(-2 * scale, 2 * scale)

    def tie():
        return float(rng.randint(-1, 1)) * scale

    def outlier():
        """Draws an ordinary score or, rarely, an outlier."""
        return rng.choice([-700.0, 800.0]) if rng.random() < 0.1 else rng.uniform(-2, 2)

    return rng.choice([uniform, uniform, tie, lambda: 0.0, outlier])


def _random_mask(rng, num_tokens):
    if rng.random() < 0.4:
        return [rng.random() < 0.6 for _ in range(num_tokens)]
    length = rng.choice([num_tokens, rng.randint(0, num_tokens)])
    return [t < length for t in range(num_tokens)]
